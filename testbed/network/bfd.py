"""BFD sessions of a network: their cables (`kuijia_app.preparation.sessions`), and their state in Open vSwitch."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from kuijia_app.preparation.sessions import SessionEnd, cable_commands, port_arguments, require_possible_interval
from kuijia_app.tables.bfd import BfdSession
from kuijia_base.errors import TestbedError
from testbed.machine.ovs import require_port_numbers, rows_of
from testbed.machine.run_directory import MachineObject

UP_TIMEOUT = 15.0
"""Seconds for sessions to come up. Until a session is up its ends send once a second (RFC 5880, 6.8.3), and three
packets must have arrived."""

_POLL_INTERVAL = 0.05
_SHOWN = re.compile(r"^---- (\S+) ----$")
_FORWARDING, _STATE, _DIAGNOSTIC = "Forwarding: ", "Local Session State: ", "Local Diagnostic: "


@dataclass(frozen=True)
class EndState:
    """Open vSwitch's report on one end; `up` is True while its watched port counts as alive."""

    up: bool
    state: str
    diagnostic: str


MISSING = EndState(up=False, state="missing", diagnostic="the port is gone")


def cable_objects(ends: Iterable[SessionEnd]) -> list[MachineObject]:
    """Return the cables that a crash could leave in the machine's own namespace; removing one end removes the other."""
    return [MachineObject("interface", end.watched) for end in ends]


def parse_bfd_show(text: str) -> dict[str, EndState]:
    """Return the state of each watched port, by device, from the output of `ovs-appctl bfd/show`."""
    states: dict[str, EndState] = {}
    name = ""
    found: dict[str, str] = {}
    for line in [*text.splitlines(), "---- end ----"]:
        heading = _SHOWN.match(line)
        if heading is not None:
            if name:
                states[name] = EndState(found[_FORWARDING] == "true", found[_STATE], found[_DIAGNOSTIC])
            name, found = heading[1], {}
        for key in (_FORWARDING, _STATE, _DIAGNOSTIC):
            if line.strip().startswith(key):
                found[key] = line.strip().removeprefix(key)
    return states


class SwitchMachine(Protocol):
    """The machine of a switch: an Open vSwitch and the devices beside it. Everything raises TestbedError on failure."""

    def vsctl(self, *arguments: str) -> str: ...

    def appctl(self, *arguments: str) -> str: ...

    def make_links(self, commands: Sequence[list[str]]) -> None:
        """Run these `ip` commands."""

    def delete_links(self, names: Sequence[str]) -> None:
        """Delete those of the devices that exist."""


class BfdCables:
    """The cables of a network's sessions; those of dead switches can neither be added nor queried.

    Everything raises TestbedError when Open vSwitch or a device fails.

    Args:
        machine_of: returns the machine of a switch; the same object for switches on the same machine.
        ends_of: returns both ends of a session.
        claim: called with new ends before they are made; raises InputError if their names are taken.
    """

    def __init__(
        self,
        machine_of: Callable[[str], SwitchMachine],
        ends_of: Callable[[BfdSession], tuple[SessionEnd, SessionEnd]],
        claim: Callable[[Iterable[SessionEnd]], None] = lambda _: None,
    ) -> None:
        self._machine_of = machine_of
        self._ends_of = ends_of
        self._claim = claim
        self._ends: dict[int, tuple[SessionEnd, SessionEnd]] = {}

    @property
    def sessions(self) -> tuple[BfdSession, ...]:
        return tuple(ends[0].session for ends in self._ends.values())

    def add(self, sessions: Sequence[BfdSession], interval_ms: int) -> None:
        """Create the cables and start the sessions, which come up once flow entries carry them.

        If others exist, ends are added one at a time: the userspace datapath forwards nothing while ports change.

        Args:
            sessions: new sessions only.
            interval_ms: time between two packets in milliseconds.

        Raises:
            InputError: the interval is out of bounds, or a name is taken; nothing is created.
            TestbedError: nothing of what was begun is left, but for ports without devices that cannot be removed.
        """
        require_possible_interval(interval_ms)
        first = not self._ends
        new = {session.path_id: self._ends_of(session) for session in sessions}
        self._claim(chain.from_iterable(new.values()))
        self._ends.update(new)
        try:
            for machine, ends in self._by_machine(new.values()):
                machine.make_links(cable_commands(ends))
                for part in [ends] if first else [[end] for end in ends]:
                    machine.vsctl(*port_arguments(part, interval_ms))
                wanted = {end.watched: end.session.watched_port for end in ends}
                wanted |= {end.inner: end.session.inner_port for end in ends}
                require_port_numbers(machine.vsctl, wanted)
        except TestbedError:
            self._give_up(new)
            raise

    def adopt(self, sessions: Iterable[BfdSession]) -> None:
        """Take over cables that somebody else has made in the same way."""
        self._ends |= {session.path_id: self._ends_of(session) for session in sessions}

    def _give_up(self, new: Mapping[int, tuple[SessionEnd, SessionEnd]]) -> None:
        """Remove what was begun, as far as possible: ports that stay in the database are taken over the next time."""
        for path_id in new:
            del self._ends[path_id]
        for machine, ends in self._by_machine(new.values()):
            with suppress(TestbedError):
                self._delete_ports(machine, ends)
            with suppress(TestbedError):
                machine.delete_links([end.watched for end in ends])

    def remove(self, sessions: Iterable[BfdSession]) -> None:
        """End sessions and remove their cables, one port at a time; unknown sessions are ignored.

        After an error all of them are still known, so that they can be removed later.
        """
        gone = {session.path_id: self._ends[session.path_id] for session in sessions if session.path_id in self._ends}
        for machine, ends in self._by_machine(gone.values()):
            self._delete_ports(machine, ends)
            machine.delete_links([end.watched for end in ends])
        for path_id in gone:
            del self._ends[path_id]

    def _delete_ports(self, machine: SwitchMachine, ends: Iterable[SessionEnd]) -> None:
        for end in ends:
            for port in (end.watched, end.inner):
                machine.vsctl("--if-exists", "del-port", end.bridge, port)

    def delete_devices(self) -> None:
        """Delete all cables without informing Open vSwitch, which may have ended."""
        for machine, ends in self._by_machine(self._ends.values()):
            machine.delete_links([end.watched for end in ends])
        self._ends.clear()

    def states(self) -> dict[BfdSession, dict[str, EndState]]:
        """Return the state of every session, by the switches at its two ends."""
        states: dict[BfdSession, dict[str, EndState]] = {session: {} for session in self.sessions}
        for machine, ends in self._by_machine(self._ends.values()):
            shown = parse_bfd_show(machine.appctl("bfd/show"))
            for end in ends:
                states[end.session][end.switch] = shown.get(end.watched, MISSING)
        return states

    def flaps(self) -> int:
        """Return how often ends of the sessions have gone up or down since their creation."""
        flaps = 0
        for machine, ends in self._by_machine(self._ends.values()):
            rows = rows_of(machine.vsctl, "Interface", "name", "bfd_status")
            watched = {end.watched for end in ends}
            found = [dict(status) for name, (_, status) in rows if name in watched and status]
            flaps += sum(int(status["flap_count"]) for status in found)
        return flaps

    def wait_until(self, sessions: Iterable[BfdSession], *, up: bool, timeout: float = UP_TIMEOUT) -> None:
        """Wait until BFD sessions are up, or down, at both ends.

        Raises:
            TestbedError: one is not within `timeout` seconds; the message names its tunnel.
        """
        wanted = set(sessions)
        deadline = time.monotonic() + timeout
        while late := {s: ends for s, ends in self.states().items() if s in wanted and not _agree(ends, up=up)}:
            if time.monotonic() > deadline:
                raise TestbedError(_complaint(late, "up" if up else "down", timeout))
            time.sleep(_POLL_INTERVAL)

    def _by_machine(
        self, ends_of_sessions: Iterable[tuple[SessionEnd, SessionEnd]]
    ) -> Iterable[tuple[SwitchMachine, list[SessionEnd]]]:
        found: dict[int, tuple[SwitchMachine, list[SessionEnd]]] = {}
        for end in chain.from_iterable(ends_of_sessions):
            machine = self._machine_of(end.switch)
            found.setdefault(id(machine), (machine, []))[1].append(end)
        return found.values()


def _agree(ends: Mapping[str, EndState], *, up: bool) -> bool:
    return all(end.up == up for end in ends.values())


def _complaint(late: Mapping[BfdSession, Mapping[str, EndState]], wanted: str, timeout: float) -> str:
    session, ends = next(iter(late.items()))
    said = ", ".join(f"{switch} says {end.state} ({end.diagnostic})" for switch, end in ends.items())
    others = f", nor are those of {len(late) - 1} others" if len(late) > 1 else ""
    return (
        f"the BFD session of tunnel {session.path_id} ({'-'.join(session.nodes)}) is not {wanted} after {timeout:g} s:"
        f" {said}{others}"
    )
