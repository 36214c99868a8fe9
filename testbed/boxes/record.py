"""Runs on a box: makes changes there and keeps on its disk what puts them back, written before each is made."""

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

from testbed.boxes.box_interfaces import leave_namespace, remove_namespace, remove_queues, restore_settings
from testbed.boxes.box_switch import remove_bridge, remove_cables
from testbed.boxes.changes import (
    LEAVE_NAMESPACE,
    REMOVE_BRIDGE,
    REMOVE_CABLES,
    REMOVE_NAMESPACE,
    REMOVE_QUEUES,
    RESTORE_SETTINGS,
    Command,
    Step,
)
from testbed.commands import run_command
from testbed.errors import TestbedError
from testbed.processes import boot_id
from testbed.trusted_folders import require_trusted

FOLDER = Path("/var/lib/kuijia/boxes")

_SPECIAL: dict[str, Callable[..., None]] = {
    REMOVE_BRIDGE: remove_bridge,
    REMOVE_CABLES: remove_cables,
    REMOVE_QUEUES: remove_queues,
    LEAVE_NAMESPACE: leave_namespace,
    REMOVE_NAMESPACE: remove_namespace,
    RESTORE_SETTINGS: restore_settings,
}
"""The undoings that are no programs."""

_UNREADABLE = "unreadable"
"""Key of what stands for a damaged line."""

_NOT_THERE = re.compile("Cannot find device|No such device|cannot stat /proc/sys/")
"""What `ip`, `tc`, `ethtool` and `sysctl` say of an interface that there is not."""


@dataclass(frozen=True)
class Record:
    """What was done on a box in one of its roles: one line of JSON about all of it, then one for each step."""

    path: Path

    @classmethod
    def of(cls, role: str, node: str) -> Record:
        """The record of a box as `role` for the topology's `node`."""
        return cls(FOLDER / f"{role}-{node.encode().hex()}.jsonl")

    def print_of_changes(self) -> str | None:
        """The fingerprint given to `begin` if all that was recorded was also done since the box was started."""
        lines = self._lines()
        if not lines or "done" not in lines[-1] or any(_UNREADABLE in line for line in lines):
            return None
        if lines[0]["boot_id"] != boot_id():
            return None
        return str(lines[0]["fingerprint"])

    @contextmanager
    def claim(self, interfaces: Iterable[str] = ()) -> Iterator[None]:
        """Keep others from changing the box, or these interfaces under another name of it, for the time of a block.

        Raises:
            TestbedError: somebody does that already.
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
        """Those given to `begin`, none where that cannot be read; None when nothing is recorded."""
        if not self.path.exists():
            return None
        lines = self._lines()
        return list(lines[0].get("interfaces", ())) if lines else []

    def begin(self, fingerprint: str, interfaces: Sequence[str] = ()) -> None:
        """Begin a record of changes to interfaces, after `claim`; raises TestbedError when there is one."""
        if self.path.exists():
            raise TestbedError(f"{self.path} records changes already; `kuijia boxes down` puts them back")
        self._append({"fingerprint": fingerprint, "boot_id": boot_id(), "interfaces": list(interfaces)})
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)  # the name of the new file, too, is on the disk before anything is changed
        finally:
            os.close(folder)

    def make(self, steps: Iterable[Step]) -> None:
        """Make changes, each recorded first."""
        for step in steps:
            self._append({"undo": step.undo, "lasting": step.lasting})
            for command in step.do:
                run_command(command)
            self._append({"made": True})

    def finish(self) -> None:
        """Record that everything is done."""
        self._append({"done": True})

    def put_back(self) -> list[str]:
        """Undo what is recorded, last things first, and forget it.

        Nothing of what a restart of the box has undone is undone again; where the line that tells whether there was one
        is damaged, only what a restart would have left. The record changes when everything was tried:
        whoever is killed meanwhile leaves all of it to be undone once more.

        Returns:
            What could not be undone, in words; the record is kept of that.
        """
        lines = self._lines()
        if not lines:
            self.path.unlink(missing_ok=True)  # cut short before anything was done
            return []
        restarted = lines[0].get("boot_id") != boot_id()  # a damaged one may be of any time
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
            if not made:  # in part at the most; that of what is not there needs no undoing
                found = [fault for fault in found if not _NOT_THERE.search(fault)]
            faults += found
            # A bridge that stays does again what was done before it was made.
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
            f"{self.path} has lines that cannot be read, and what they record is not put back: a restart of the box "
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
        """What is recorded, damaged lines among it; one cut short by a crash stands for nothing done."""
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
            _undo(tuple(command))
        except TestbedError as error:
            faults.append(str(error))
        except (OSError, LookupError, ValueError) as error:  # nor does that keep the others from being undone
            faults.append(f"`{shlex.join(command)}` ends with {type(error).__name__}: {error}")
    return faults


def _undo(command: Command) -> None:
    special = _SPECIAL.get(command[0])
    if special is None:
        run_command(command)
    else:
        special(*command[1:])
