"""Ports of BFD sessions: the cable at either end of a session and its two ports in Open vSwitch; pure.

Both ends of a cable are ports of the same bridge. Open vSwitch runs the session on the *watched* port; its packets
arrive at the *inner* port, where flow entries take over (see `kuijia_app.tables.bfd`). Cables need no queues: their
packets are queued with everything else where they leave the switch.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kuijia_app.tables.bfd import BfdSession, multiplier_at
from kuijia_base.errors import InputError

DEFAULT_INTERVAL_MS = 30
MIN_INTERVAL_MS, MAX_INTERVAL_MS = 1, 10_000
"""Bounds of the interval; Open vSwitch takes whole milliseconds from one on."""

_LONGEST_NAME = 15
"""Letters of a network device's name (IFNAMSIZ in linux/if.h)."""


def watched_name(bridge: str, path_id: int) -> str:
    """Return the port of a bridge whose liveness is that of the BFD session over a path."""
    return _name(bridge, "b", path_id)


def inner_name(bridge: str, path_id: int) -> str:
    """Return the other end of the watched port's cable."""
    return _name(bridge, "i", path_id)


def _name(bridge: str, end: str, path_id: int) -> str:
    """Return the name of a device; a digest stands for the bridge where its name is too long."""
    name = f"{bridge}-{end}{path_id}"
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{zlib.crc32(bridge.encode()):08x}{end}{path_id}"


@dataclass(frozen=True)
class SessionEnd:
    """One end of a session: the switch and its bridge, the session's cable there and the numbers of its two ports."""

    session: BfdSession
    switch: str
    bridge: str
    watched: str
    inner: str


def require_possible_interval(interval_ms: int) -> None:
    """Raise InputError for an interval that Open vSwitch does not accept."""
    if not MIN_INTERVAL_MS <= interval_ms <= MAX_INTERVAL_MS:
        expected = f"{MIN_INTERVAL_MS} to {MAX_INTERVAL_MS} ms"
        raise InputError("testbed", "BFD interval", f"{interval_ms} ms is out of bounds", expected)


def end_of(session: BfdSession, switch: str, bridge: str) -> SessionEnd:
    """Return the end of a session at a switch, whose bridge is known."""
    names = watched_name(bridge, session.path_id), inner_name(bridge, session.path_id)
    return SessionEnd(session, switch, bridge, *names)


def ends_of(session: BfdSession, bridge_of: Callable[[str], str]) -> tuple[SessionEnd, SessionEnd]:
    """Return both ends of a session, given the bridge of each switch."""
    first, last = (end_of(session, switch, bridge_of(switch)) for switch in (session.nodes[0], session.nodes[-1]))
    return first, last


def cable_commands(ends: Iterable[SessionEnd]) -> list[list[str]]:
    """Return the arguments of the `ip` commands that create the cables and bring them up."""
    commands = []
    for end in ends:
        commands.append(["link", "add", "name", end.watched, "up", "type", "veth", "peer", "name", end.inner])
        commands.append(["link", "set", end.inner, "up"])
    return commands


def session_settings(interval_ms: int) -> dict[str, str]:
    """Return the settings of a session's watched port; `interval_ms` are between two packets."""
    times = {"min_tx": str(interval_ms), "min_rx": str(interval_ms), "mult": str(multiplier_at(interval_ms))}
    return {"enable": "true", **times}


def port_arguments(ends: Iterable[SessionEnd], interval_ms: int, mark: str = "") -> list[str]:
    """Return the arguments of one `ovs-vsctl` that adds the cables' ends as ports and starts the sessions.

    Args:
        ends: of the sessions.
        interval_ms: time between two packets in milliseconds.
        mark: `external_ids:KEY=VALUE` that the ports get, if any.
    """
    arguments = []
    for end in ends:
        settings = [f"bfd:{name}={value}" for name, value in session_settings(interval_ms).items()]
        for interface, number, extra in (
            (end.inner, end.session.inner_port, []),
            (end.watched, end.session.watched_port, settings),
        ):
            arguments += ["--", "--may-exist", "add-port", end.bridge, interface]
            arguments += ["--", "set", "Interface", interface, f"ofport_request={number}", *extra]
            arguments += ["--", "set", "Port", interface, mark] if mark else []
    return arguments
