"""All boxes of an inventory: connected, checked, configured and restored together."""

from __future__ import annotations

import os
import secrets
import socketserver
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kuijia_base.errors import KuijiaError, TestbedError
from testbed.boxes.changes import BoxStep, Facts, wake_steps
from testbed.boxes.check import Heard, amiss, box_faults, cable_faults
from testbed.boxes.inventory import Box, BoxInventory, HostBox, SwitchBox, read_inventory
from testbed.boxes.plans import Target
from testbed.boxes.ssh import BoxError, DeadBoxError, SshConnection
from testbed.links.port_status import CARRIER_SECONDS
from testbed.machine.programs import ClockOffset, ask_clock
from testbed.machine.trusted_folders import read_record
from testbed.network.leftovers import BOXES_NOTE

_CHANGE_SECONDS = 120.0

_CALL_SECONDS, _CALLED_SECONDS = 5.0, 20.0
"""Seconds to connect to the controller's place, and to report it. The kernel gives up silent neighbours after three."""


@dataclass(frozen=True)
class Examination:
    """Result of a check.

    Attributes:
        facts: of the boxes that were reached, by name.
        notes: aspects that cannot be examined without changing something or disturbing others.
        untried: the note that explains why switches have not called the controller's place, None if they have.
        recorded: True if changes are recorded on any box.
        amiss: recorded changes that are no longer in effect.
        built: True if all boxes are already in their target state.
    """

    facts: Mapping[str, Facts]
    faults: tuple[str, ...]
    notes: tuple[str, ...]
    untried: str | None
    recorded: bool
    amiss: tuple[str, ...]
    built: bool


class Fleet:
    """Connections to the boxes, from `connect` to `close`; used as a context manager.

    Everything raises TestbedError when a box fails, and its message begins with the box's name.

    Attributes:
        unreached: box to the reason why it was not reached.
        facts: from the last examination of the boxes.
    """

    def __init__(self, inventory: BoxInventory) -> None:
        self.inventory = inventory
        self.unreached: dict[str, str] = {}
        self.facts: Mapping[str, Facts] = {}
        self._connections: dict[str, SshConnection] = {}

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self) -> None:
        """Connect to every box that answers; `unreached` gets the others with SSH's error."""
        boxes = self.inventory.boxes
        with ThreadPoolExecutor(len(boxes)) as pool:
            for box, found in zip(boxes, pool.map(_connect, boxes), strict=True):
                if isinstance(found, SshConnection):
                    self._connections[box.name] = found
                else:
                    self.unreached[box.name] = str(found)

    def require_all(self) -> None:
        """Raise TestbedError if a box was not reached."""
        if self.unreached:
            raise TestbedError("; ".join(self.unreached.values()))

    def close(self) -> None:
        with ExitStack() as stack:
            for connection in self._connections.values():
                stack.callback(connection.close)
        self._connections.clear()

    def connection(self, box: Box) -> SshConnection:
        """Return the connection to a box; raises DeadBoxError if there is none."""
        if box.name not in self._connections:
            raise DeadBoxError(self.unreached.get(box.name, f"{box.name} is not connected"))
        return self._connections[box.name]

    def ask(
        self, action: str, arguments: Callable[[Box], dict[str, object] | None], seconds: float = _CHANGE_SECONDS
    ) -> dict[str, Any]:
        """Execute an action on the connected boxes at the same time.

        Args:
            action: of the agent.
            arguments: returns the arguments for a box; None leaves it out.
            seconds: time limit for each answer.

        Returns:
            The answers by box name.

        Raises:
            BoxError: boxes failed; the message has all failures.
        """
        answers, faults = self.ask_each(action, arguments, seconds)
        if faults:
            raise BoxError("; ".join(faults.values()))
        return answers

    def examine(self, target: Target, *, claimed: bool = False) -> Examination:
        """Examine everything without changing anything; boxes that were not reached count as faults.

        Args:
            target: target state of the boxes.
            claimed: True if the boxes are claimed by us; if not, and changes are recorded, there is no stand-in for the
                controller, as the run that uses them may need its place.
        """
        facts = self.ask("survey", _survey_arguments)
        marks = self.ask("fingerprint", _role)
        recorded = self.ask("recorded_interfaces", _role)
        faults = list(self.unreached.values())
        for box in self.inventory.boxes:
            if box.name in facts:
                tls = self.inventory.controller.tls is not None
                namespace = target.namespace(box) if isinstance(box, HostBox) else None
                found = box_faults(box, facts[box.name], namespace, changed=recorded[box.name], tls=tls)
                faults += [f"{box.name}: {fault}" for fault in found]
        changed = [box for box in self.inventory.boxes if recorded.get(box.name) is not None]
        wrong = [f"{box.name}: {what}" for box in changed for what in _amiss(box, marks[box.name], target, facts)]
        built = not (self.unreached or wrong) and len(changed) == len(self.inventory.boxes)
        notes = []
        if changed:
            everywhere = len(changed) == len(self.inventory.boxes)
            names = "all boxes" if everywhere else ", ".join(box.name for box in changed)
            notes = [f"cables, and whether others use the interfaces whose changes are recorded, on {names}"]
        elif not faults:
            asleep = [
                (box.name, name)
                for box in self.inventory.boxes
                for name in box.interfaces
                if not facts[box.name]["interfaces"][name]["up"]
            ]
            notes = [f"{name}: {interface} is down, so its cable cannot be followed" for name, interface in asleep]
            faults += cable_faults(target.cables(), self._hear(asleep), asleep)
        barred, untried = self._ways_to_controller() if claimed or not changed else ([], "a run may need its place")
        faults += barred
        if untried is not None:
            untried = f"whether switches reach the controller at {self._controller}: {untried}"
            notes.append(untried)
        self.facts = facts
        return Examination(facts, tuple(faults), tuple(notes), untried, bool(changed), tuple(wrong), built)

    def clocks(self) -> dict[str, ClockOffset]:
        """Return the clocks of the reached boxes by name, asked one after the other so that none delays another."""
        return {box.name: self._clock(box) for box in self.inventory.boxes if box.name in self._connections}

    def build(self, target: Target, report: Callable[[str], None]) -> bool:
        """Bring the boxes into their target state, after undoing changes that it no longer needs.

        Returns:
            False if there was nothing to do.

        Raises:
            TestbedError: there are obstacles, all of them in the message, or a change failed; changes are undone then.
        """
        self.require_all()
        self.ask("claim", _claim_arguments)
        report(f"checking {len(self.inventory.boxes)} boxes")
        found = self.examine(target, claimed=True)
        _require_none(found.faults)
        if found.untried:
            report(f"not checked: {found.untried}")
        if found.built:
            return False
        if found.recorded:
            report("restoring the boxes")
            self.put_back()
            found = self.examine(target, claimed=True)
            _require_none(found.faults)
        try:
            begun = {"fingerprint": target.fingerprint()}
            self.ask("begin_changes", lambda box: {**_role(box), **begun, "interfaces": box.interfaces})
            report("following the cables")
            self._change(lambda box: wake_steps(box.interfaces, found.facts[box.name]))
            _require_none(cable_faults(target.cables(), self._hear()))
            report("changing the boxes")
            self._change(lambda box: target.steps(box, found.facts))
            self.ask("finish_changes", _role)
        except BaseException:
            self.put_back_what_answers(report)
            raise
        return True

    def put_back(self) -> None:
        """Restore all recorded changes on the boxes that were reached.

        A failure on one box does not keep others from being restored.

        Raises:
            TestbedError: something could not be restored, and stays recorded, or boxes were not reached; the message
                has all of it.
        """
        claimed, refused = self.ask_each("claim", _claim_arguments)
        found, failed = self.ask_each("put_back", lambda box: _role(box) if box.name in claimed else None)
        left = [f"{name}: {fault}" for name, faults in found.items() for fault in faults]
        _require_none([*self.unreached.values(), *refused.values(), *failed.values(), *left])

    def put_back_what_answers(self, report: Callable[[str], None]) -> None:
        """Restore what is possible; `report` receives a line for each box on what is left."""
        found, failed = self.ask_each("put_back", _role)
        for name, faults in (found | {name: [fault] for name, fault in failed.items()}).items():
            if faults:
                report(f"{name} is not put back, `kuijia boxes down` does it later: {'; '.join(faults)}")

    def ask_each(
        self, action: str, arguments: Callable[[Box], dict[str, object] | None], seconds: float = _CHANGE_SECONDS
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Do as `ask`, but return answers and failures separately, both by box name."""
        orders: dict[str, int] = {}
        answers: dict[str, Any] = {}
        faults: dict[str, str] = {}
        for box in self.inventory.boxes:
            wanted = arguments(box) if box.name in self._connections else None
            if wanted is not None:
                with _collecting(faults, box.name):
                    orders[box.name] = self._connections[box.name].begin(action, **wanted)
        for name, order in orders.items():
            with _collecting(faults, name):
                answers[name] = self._connections[name].result(order, seconds)
        return answers, faults

    def _change(self, steps: Callable[[Box], Iterable[BoxStep]]) -> None:
        self.ask("make_changes", lambda box: {**_role(box), "steps": [step.as_data() for step in steps(box)]})

    def _hear(self, asleep: Collection[tuple[str, str]] = ()) -> Heard:
        token = secrets.token_hex(8)

        def arguments(box: Box) -> dict[str, object] | None:
            awake = [name for name in box.interfaces if (box.name, name) not in asleep]
            return {"box": box.name, "token": token, "interfaces": awake, "seconds": CARRIER_SECONDS} if awake else None

        return self.ask("probe_cables", arguments)

    def _ways_to_controller(self) -> tuple[list[str], str | None]:
        """Return faults of switches that do not reach the controller, and why listening in its place fails, if so."""
        host, port = self.inventory.controller.host, self.inventory.controller.port

        def arguments(box: Box) -> dict[str, object] | None:
            call = {"host": host, "port": port, "word": word, "seconds": _CALL_SECONDS}
            return call if isinstance(box, SwitchBox) else None

        try:
            with stand_in(host, port) as word:
                calls = self.ask("call_controller", arguments, _CALLED_SECONDS)
        except OSError as error:
            return [], error.strerror
        problem = f"it does not reach the controller at {self._controller}"
        return [f"{name}: {problem}: {what}" for name, what in calls.items() if what], None

    @property
    def _controller(self) -> str:
        return f"{self.inventory.controller.host}:{self.inventory.controller.port}"

    def _clock(self, box: Box) -> ClockOffset:
        connection = self.connection(box)
        return ask_clock(lambda: float(connection.call("clock")), time.time)


@contextmanager
def _collecting(faults: dict[str, str], name: str) -> Iterator[None]:
    """Collect the fault that a box reports."""
    try:
        yield
    except BoxError as error:
        faults[name] = str(error)


def _connect(box: Box) -> SshConnection | DeadBoxError:
    try:
        return SshConnection(box.name, box.login)
    except DeadBoxError as error:
        return error


def _role(box: Box) -> dict[str, object]:
    return {"role": box.role, "node": box.node}


def _claim_arguments(box: Box) -> dict[str, object]:
    return {**_role(box), "interfaces": box.interfaces}


def _amiss(box: Box, mark: str | None, target: Target, facts: Mapping[str, Facts]) -> list[str]:
    """Return why a box with a record is not in its target state, or nothing."""
    if mark is None:
        return ["its recorded changes are incomplete, or it was restarted since"]
    if mark != target.fingerprint():
        return ["it was made for another topology, capacity, queue or inventory"]
    return list(amiss(box, facts[box.name]))


def _survey_arguments(box: Box) -> dict[str, object]:
    directory = str(box.ovs_directory) if isinstance(box, SwitchBox) else None
    moved = box.interfaces if isinstance(box, HostBox) else ()
    return {"interfaces": box.interfaces, "moved": moved, "ovs_directory": directory}


def _require_none(faults: Iterable[str]) -> None:
    found = list(faults)
    if found:
        raise TestbedError("; ".join(found))


@dataclass(frozen=True)
class BoxesNote:
    """Note in a run directory that its lab changes the boxes of an inventory."""

    run_directory: Path
    inventory: Path

    def write(self) -> None:
        self._file.write_text(str(self.inventory.absolute()))

    def remove(self) -> None:
        """Remove the note, if there is one: the boxes are as they were before the lab."""
        self._file.unlink(missing_ok=True)

    @property
    def _file(self) -> Path:
        return self.run_directory / BOXES_NOTE


def put_back_boxes(run_directory: Path, report: Callable[[str], None]) -> None:
    """Put back the boxes that a killed lab has changed; its programs here have ended.

    Raises:
        TestbedError: some are not put back, and stay noted; the message has the reasons and what to do.
    """
    path = Path(os.fsdecode(read_record(run_directory / BOXES_NOTE)))
    report(f"putting back the boxes of the killed lab {run_directory.name}")
    try:
        with Fleet(read_inventory(path)) as fleet:
            fleet.connect()
            fleet.put_back()
    except KuijiaError as error:
        problem = f"boxes of the killed lab {run_directory.name} are not put back"
        raise TestbedError(f"{problem}: {error}; `kuijia boxes down {path}` does it later") from error
    BoxesNote(run_directory, path).remove()


_POLL_SECONDS = 0.05


class _Listener(socketserver.TCPServer):
    allow_reuse_address = True
    request_queue_size = 128  # all switches call at the same time

    def __init__(self, host: str, port: int, word: bytes) -> None:
        super().__init__((host, port), _Answer)
        self.word = word


class _Answer(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Listener)
        with suppress(OSError):  # the caller is gone
            self.request.sendall(self.server.word)


@contextmanager
def stand_in(host: str, port: int) -> Iterator[str]:
    """Listen in the controller's place during a block; yield the word that every caller receives.

    Raises:
        OSError: the address is not available, for instance because a controller listens there.
    """
    word = secrets.token_hex(8)
    with _Listener(host, port, word.encode()) as listener:
        thread = threading.Thread(target=listener.serve_forever, args=(_POLL_SECONDS,), name="stand-in")
        thread.start()
        try:
            yield word
        finally:
            listener.shutdown()
            thread.join()
