"""Breaks and mends links of the emulated network and records when the switches noticed."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass

from te_solver.errors import InputError
from testbed.commands import run_command
from testbed.errors import TestbedError
from testbed.link_state import is_running, set_devices
from testbed.network import Network
from testbed.port_status import PortObserver, wait_for_port_states

PORT_STATUS_TIMEOUT = 10.0


@dataclass(frozen=True)
class LinkEvent:
    """A link that was taken down or brought up.

    Attributes:
        a, b: the switches at its ends.
        up: whether it was brought up.
        requested_at: Unix time in seconds, just before the first device was switched.
        delay: switch to the seconds from then until its port-status message arrived.
    """

    a: str
    b: str
    up: bool
    requested_at: float
    delay: dict[str, float]


def fail_link(network: Network, a: str, b: str) -> LinkEvent:
    """Take both ends of the link down; return when both switches have reported their port down.

    Raises:
        InputError: there is no such link, or it is down already.
        TestbedError: an interface has vanished, or a switch does not report.
    """
    return _switch_link(network, a, b, up=False)


def heal_link(network: Network, a: str, b: str) -> LinkEvent:
    """Bring both ends of the link up; return when both switches have reported their port up.

    Raises:
        InputError: there is no such link, or it is up already.
        TestbedError: an interface or its queues have vanished, or a switch does not report.
    """
    event = _switch_link(network, a, b, up=True)
    for interface in _interfaces(network, a, b).values():
        root = json.loads(run_command(["tc", "-json", "qdisc", "show", "dev", interface, "root"]))
        if [qdisc["kind"] for qdisc in root] != ["htb"]:
            raise TestbedError(f"interface {interface} has lost its queues")
    return event


def _switch_link(network: Network, a: str, b: str, *, up: bool) -> LinkEvent:
    devices = _interfaces(network, a, b)
    if all(is_running(device) for device in devices.values()) == up:
        state, other_state = ("up", "down") if up else ("down", "up")
        raise InputError("testbed", f"link {a}-{b}", f"the link is {state} already", f"one that is {other_state}")
    with ExitStack() as stack:
        observers = {
            switch: (
                stack.enter_context(PortObserver(network.ovs.management(network.bridge(switch)))),
                network.wiring.port(switch, other),
            )
            for switch, other in ((a, b), (b, a))
        }
        requested_at, started = time.time(), time.monotonic()
        set_devices(devices.values(), up=up)
        arrivals = wait_for_port_states(observers, up=up, timeout=PORT_STATUS_TIMEOUT)
    delay = {switch: arrival - started for switch, arrival in arrivals.items()}
    return LinkEvent(a, b, up, requested_at, delay)


def _interfaces(network: Network, a: str, b: str) -> dict[str, str]:
    """Switch to the device of its end of the link."""
    for node in (a, b):
        if node not in network.topology.nodes:
            raise InputError("testbed", node, "there is no such node", f"one of {', '.join(network.topology.nodes)}")
    if b not in network.topology.neighbours[a]:
        others = ", ".join(network.topology.neighbours[a])
        raise InputError("testbed", f"link {a}-{b}", "there is no such link", f"one from {a} to {others}")
    return {switch: network.interface(switch, network.wiring.port(switch, other)) for switch, other in ((a, b), (b, a))}
