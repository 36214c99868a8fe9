"""Runs on a box: makes changes there and keeps on its disk how to undo them, written before each change."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from kuijia_app.preparation.completion import complete_queues
from kuijia_base.commands import run_command
from kuijia_base.errors import TestbedError
from testbed.boxes.box_switch import (
    leave_namespace,
    remove_bridge,
    remove_cables,
    remove_namespace,
    remove_queues,
    restore_settings,
)
from testbed.boxes.changes import (
    COMPLETE_QUEUES,
    LEAVE_NAMESPACE,
    REMOVE_BRIDGE,
    REMOVE_CABLES,
    REMOVE_NAMESPACE,
    REMOVE_QUEUES,
    RESTORE_SETTINGS,
    BoxStep,
    Command,
)
from testbed.machine.processes import boot_id
from testbed.machine.trusted_folders import require_trusted

FOLDER = Path("/var/lib/kuijia/boxes")

_SPECIAL: dict[str, Callable[..., None]] = {
    COMPLETE_QUEUES: lambda commands: complete_queues(*json.loads(commands)),
    REMOVE_BRIDGE: remove_bridge,
    REMOVE_CABLES: remove_cables,
    REMOVE_QUEUES: remove_queues,
    LEAVE_NAMESPACE: leave_namespace,
    REMOVE_NAMESPACE: remove_namespace,
    RESTORE_SETTINGS: restore_settings,
}
"""Commands that are functions, not programs."""

_UNREADABLE = "unreadable"
"""Key of the placeholder for a damaged line."""

_NOT_THERE = re.compile("Cannot find device|No such device|cannot stat /proc/sys/")
"""Output of `ip`, `tc`, `ethtool` and `sysctl` about an interface that does not exist."""


@dataclass(frozen=True)
class BoxRecord:
    """Changes to a box in one of its roles: one line of JSON for the whole record, then one for each step."""

    path: Path

    @classmethod
    def of(cls, role: str, node: str) -> BoxRecord:
        """Return the record of a box as `role` for the topology's `node`."""
        return cls(FOLDER / f"{role}-{node.encode().hex()}.jsonl")

    def print_of_changes(self) -> str | None:
        """Return the fingerprint given to `begin` if all recorded changes were completed since the box's last start."""
        lines = self._lines()
        if not lines or "done" not in lines[-1] or any(_UNREADABLE in line for line in lines):
            return None
        if lines[0]["boot_id"] != boot_id():
            return None
        return str(lines[0]["fingerprint"])

    @contextmanager
    def claim(self, interfaces: Iterable[str] = ()) -> Iterator[None]:
        """Keep others from changing the box, or these interfaces under another of its names, during a block.

        Raises:
            TestbedError: another user has claimed it.
        """
        self.path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        require_trusted(self.path.parent)
        wanted = {self.path.with_suffix(".lock"): "it"}
        wanted |= {self.path.with_name(f"interface-{name.encode().hex()}.lock"): name for name in interfaces}
        with ExitStack() as stack:
            for path, what in wanted.items():
                lock = stack.enter_context(path.open("wb"))
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise TestbedError(f"another kuijia is at work on {what}") from error
            yield

    def interfaces(self) -> list[str] | None:
        """Return the interfaces given to `begin`, none if they cannot be read; None if nothing is recorded."""
        if not self.path.exists():
            return None
        lines = self._lines()
        return list(lines[0].get("interfaces", ())) if lines else []

    def begin(self, fingerprint: str, interfaces: Sequence[str] = ()) -> None:
        """Begin a record of changes to interfaces, after `claim`; raises TestbedError if there is one already."""
        if self.path.exists():
            raise TestbedError(f"{self.path} records changes already; `kuijia boxes down` puts them back")
        self._append({"fingerprint": fingerprint, "boot_id": boot_id(), "interfaces": list(interfaces)})
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)  # the new file's name must also be on disk before any change
        finally:
            os.close(folder)

    def make(self, steps: Iterable[BoxStep]) -> None:
        """Make changes, recording each one first."""
        for step in steps:
            self._append({"undo": step.undo, "lasting": step.lasting})
            for command in step.do:
                _run(tuple(command))
            self._append({"made": True})

    def finish(self) -> None:
        """Record that all changes are complete."""
        self._append({"done": True})

    def put_back(self) -> list[str]:
        """Undo the recorded changes, the last one first, and delete the record.

        Changes that a restart of the box has undone are not undone again; if the line that shows a restart is damaged,
        only lasting changes are undone. The record is rewritten after everything was tried, so that all of it is tried
        again if this is killed midway.

        Returns:
            Failures in words; the record keeps their changes.
        """
        lines = self._lines()
        if not lines:
            self.path.unlink(missing_ok=True)  # cut short before anything was done
            return []
        restarted = lines[0].get("boot_id") != boot_id()  # a damaged one may be from any time
        faults = [self._complaint()] if any(_UNREADABLE in line for line in lines) else []
        left = []
        bridge_stays = False
        for line, after in reversed(list(zip_longest(lines[1:], lines[2:], fillvalue={}))):
            if _UNREADABLE in line:
                left.append(line)
            if "undo" not in line or (restarted and not line["lasting"]):
                continue
            found = _faults_of_undoing(line["undo"])
            made = "made" in after
            if not made:  # made in part at most; missing objects need no undoing
                found = [fault for fault in found if not _NOT_THERE.search(fault)]
            faults += found
            # A bridge that stays re-applies the changes made before it, so they are kept as well.
            bridge_stays = bridge_stays or bool(found and line["lasting"])
            if found or bridge_stays:
                left += [after, line] if made else [line]
        if faults:
            self._write([lines[0], *reversed(left)])
        else:
            self.path.unlink()
        return faults

    def _complaint(self) -> str:
        return (
            f"{self.path} has unreadable lines, and the changes that they record are not undone: a restart of the box "
            "undoes all but a bridge; then delete the file"
        )

    def _write(self, lines: Iterable[Mapping[str, Any]]) -> None:
        whole = self.path.with_suffix(".new")
        whole.write_text("".join(json.dumps(line) + "\n" for line in lines))
        whole.replace(self.path)

    def _append(self, line: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _lines(self) -> list[dict[str, Any]]:
        """Return the recorded lines, damaged ones included, except one cut short by a crash: its step was not begun."""
        if not self.path.exists():
            return []
        return [_content(line) for line in self.path.read_bytes().split(b"\n")[:-1]]


def _content(line: bytes) -> dict[str, Any]:
    try:
        content = json.loads(line.decode())
    except ValueError:
        content = None
    return content if isinstance(content, dict) else {_UNREADABLE: line.decode(errors="backslashreplace")}


def _faults_of_undoing(commands: Iterable[Sequence[str]]) -> list[str]:
    faults = []
    for command in commands:
        try:
            _run(tuple(command))
        except TestbedError as error:
            faults.append(str(error))
        except (OSError, LookupError, ValueError) as error:  # the others must still be undone
            faults.append(f"`{shlex.join(command)}` ends with {type(error).__name__}: {error}")
    return faults


def _run(command: Command) -> None:
    special = _SPECIAL.get(command[0])
    if special is None:
        run_command(command)
    else:
        special(*command[1:])
