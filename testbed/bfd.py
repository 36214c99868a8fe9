"""BFD sessions of the emulated network: a cable on either end of each, and what Open vSwitch says of them.

Both ends of a cable are ports of the same bridge. Open vSwitch runs the session on the *watched* port; what it sends
there comes in at the *inner* port, where flow entries take it over (see `kuijia_app.bfd`). Cables need no queues: what
comes out of one is queued with everything else where it leaves the switch.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kuijia_app.bfd import BfdSession
from kuijia_app.wiring import Wiring
from te_solver.errors import InputError
from testbed.commands import run_batch
from testbed.errors import TestbedError
from testbed.machine_objects import interfaces
from testbed.names import bfd_inner_name, bfd_watched_name, bridge_name
from testbed.ovs import Ovs
from testbed.run_directory import MachineObject

DEFAULT_INTERVAL_MS = 30
MIN_INTERVAL_MS, MAX_INTERVAL_MS = 1, 10_000
"""Open vSwitch takes whole milliseconds from one on."""

DETECT_MULTIPLIER = 3
"""Intervals without a packet after which a session is down: Open vSwitch's own, which we leave as it is."""

UP_TIMEOUT = 15.0
"""Seconds for sessions to come up. Until a session is up its ends send once a second (RFC 5880, 6.8.3), and three
packets must have arrived."""

_POLL_INTERVAL = 0.05
_SHOWN = re.compile(r"^---- (\S+) ----$")
_FORWARDING, _STATE, _DIAGNOSTIC = "Forwarding: ", "Local Session State: ", "Local Diagnostic: "


@dataclass(frozen=True)
class SessionEnd:
    """One end of a session: the switch and its bridge, the session's cable there and the numbers of its two ports."""

    session: BfdSession
    switch: str
    bridge: str
    watched: str
    inner: str


@dataclass(frozen=True)
class EndState:
    """What Open vSwitch says of one end: `up` is whether its watched port counts as alive."""

    up: bool
    state: str
    diagnostic: str


MISSING = EndState(up=False, state="missing", diagnostic="the port is gone")


def require_possible_interval(interval_ms: int) -> None:
    """Raise InputError for an interval that Open vSwitch does not take."""
    if not MIN_INTERVAL_MS <= interval_ms <= MAX_INTERVAL_MS:
        expected = f"{MIN_INTERVAL_MS} to {MAX_INTERVAL_MS} ms"
        raise InputError("testbed", "BFD interval", f"{interval_ms} ms is out of bounds", expected)


def session_ends(sessions: Iterable[BfdSession], wiring: Wiring) -> tuple[SessionEnd, ...]:
    """Both ends of every session."""
    return tuple(
        SessionEnd(
            session,
            switch,
            bridge_name(wiring, switch),
            bfd_watched_name(wiring, switch, session.path_id),
            bfd_inner_name(wiring, switch, session.path_id),
        )
        for session in sessions
        for switch in (session.nodes[0], session.nodes[-1])
    )


def cable_objects(ends: Iterable[SessionEnd]) -> list[MachineObject]:
    """What a crash could leave in the machine's own namespace; with one end of a cable goes the other."""
    return [MachineObject("interface", end.watched) for end in ends]


def cable_commands(ends: Iterable[SessionEnd]) -> list[list[str]]:
    """Arguments of the `ip` commands that make the cables and switch them on."""
    commands = []
    for end in ends:
        commands.append(["link", "add", "name", end.watched, "up", "type", "veth", "peer", "name", end.inner])
        commands.append(["link", "set", end.inner, "up"])
    return commands


def port_arguments(ends: Iterable[SessionEnd], interval_ms: int) -> list[str]:
    """Arguments of one `ovs-vsctl` that makes the cables' ends ports and starts the sessions."""
    arguments = []
    for end in ends:
        settings = ["bfd:enable=true", f"bfd:min_tx={interval_ms}", f"bfd:min_rx={interval_ms}"]
        for interface, number, extra in (
            (end.inner, end.session.inner_port, []),
            (end.watched, end.session.watched_port, settings),
        ):
            arguments += ["--", "add-port", end.bridge, interface]
            arguments += ["--", "set", "Interface", interface, f"ofport_request={number}", *extra]
    return arguments


def parse_bfd_show(text: str) -> dict[str, EndState]:
    """Device of a watched port to what `ovs-appctl bfd/show` says of it."""
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


class BfdCables:
    """The cables of a network's sessions; those of switches that are gone cannot be added or asked for.

    Everything raises TestbedError when Open vSwitch or a device fails.
    """

    def __init__(self, ovs: Ovs, wiring: Wiring) -> None:
        self._ovs = ovs
        self._wiring = wiring
        self._ends: dict[int, tuple[SessionEnd, ...]] = {}

    @property
    def sessions(self) -> tuple[BfdSession, ...]:
        return tuple(ends[0].session for ends in self._ends.values())

    def add(self, sessions: Sequence[BfdSession], interval_ms: int) -> None:
        """Make the cables and start the sessions, which come up once flow entries carry them.

        Beside others they are added one end at a time: the userspace datapath forwards nothing while ports change.

        Args:
            sessions: none of them among those there are.
            interval_ms: between two packets, milliseconds; a session is down after three of them without any.

        Raises:
            InputError: the interval is out of bounds; nothing is made then.
        """
        require_possible_interval(interval_ms)
        ends = session_ends(sessions, self._wiring)
        if not ends:
            return
        first = not self._ends
        self._ends.update({session.path_id: session_ends([session], self._wiring) for session in sessions})
        run_batch("ip", cable_commands(ends))
        for part in [ends] if first else [[end] for end in ends]:
            self._ovs.vsctl(*port_arguments(part, interval_ms))
        self._require_numbers(ends)

    def remove(self, sessions: Iterable[BfdSession]) -> None:
        """End sessions and take their cables away, one port at a time; those there are not are no fault."""
        ends = [end for session in sessions for end in self._ends.pop(session.path_id, ())]
        for end in ends:
            for port in (end.watched, end.inner):
                self._ovs.vsctl("--if-exists", "del-port", end.bridge, port)
        _delete_cables(ends)

    def delete_devices(self) -> None:
        """Delete all cables without a word to Open vSwitch, which may have ended."""
        _delete_cables([end for ends in self._ends.values() for end in ends])
        self._ends.clear()

    def states(self) -> dict[BfdSession, dict[str, EndState]]:
        """What Open vSwitch says of every session, by the switches at its two ends."""
        if not self._ends:
            return {}
        shown = parse_bfd_show(self._ovs.appctl("bfd/show"))
        return {
            ends[0].session: {end.switch: shown.get(end.watched, MISSING) for end in ends}
            for ends in self._ends.values()
        }

    def flaps(self) -> int:
        """How often ends of the sessions have gone up or down since they were made."""
        table = json.loads(self._ovs.vsctl("--format=json", "--columns=name,bfd_status", "list", "Interface"))
        watched = {end.watched for ends in self._ends.values() for end in ends}
        return sum(int(dict(status)["flap_count"]) for name, (_, status) in table["data"] if name in watched and status)

    def wait_until(self, sessions: Iterable[BfdSession], *, up: bool, timeout: float) -> None:
        """Wait until sessions are up, or down, at both ends.

        Raises:
            TestbedError: one is not within `timeout` seconds; the message names its tunnel.
        """
        wanted = set(sessions)
        deadline = time.monotonic() + timeout
        while late := {s: ends for s, ends in self.states().items() if s in wanted and not _agree(ends, up=up)}:
            if time.monotonic() > deadline:
                raise TestbedError(_complaint(late, "up" if up else "down", timeout))
            time.sleep(_POLL_INTERVAL)

    def _require_numbers(self, ends: Iterable[SessionEnd]) -> None:
        table = json.loads(self._ovs.vsctl("--format=json", "--columns=name,ofport,error", "list", "Interface"))
        found = {name: (number, error) for name, number, error in table["data"]}
        for end in ends:
            for interface, number in ((end.watched, end.session.watched_port), (end.inner, end.session.inner_port)):
                got, error = found[interface]
                if got != number:
                    raise TestbedError(f"Open vSwitch gave {interface} the port {got} instead of {number}: {error}")


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


def _delete_cables(ends: Iterable[SessionEnd]) -> None:
    """With one end of a cable goes the other."""
    present = interfaces()
    run_batch("ip", [["link", "delete", end.watched] for end in ends if end.watched in present])
