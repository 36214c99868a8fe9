"""Breaks and heals links of a network and records when the switches noticed."""

from __future__ import annotations

from dataclasses import dataclass

from kuijia_base.errors import InputError
from testbed.network.lab_network import LabNetwork


@dataclass(frozen=True)
class LinkEvent:
    """A link that was taken down or brought up.

    Attributes:
        a, b: the switches at its ends.
        up: True if it was brought up.
        requested_at: Unix time in seconds, just before the first device was switched.
        delay: switch to the seconds from then until its port-status message arrived.
    """

    a: str
    b: str
    up: bool
    requested_at: float
    delay: dict[str, float]


def fail_link(network: LabNetwork, a: str, b: str) -> LinkEvent:
    """Take both ends of the link down; return when both switches have reported their port down.

    Raises:
        InputError: there is no such link, or it is down already.
        TestbedError: an interface has vanished, or a switch does not report.
    """
    return _switch_link(network, a, b, up=False)


def heal_link(network: LabNetwork, a: str, b: str) -> LinkEvent:
    """Bring both ends of the link up; return when both switches have reported their port up.

    Raises:
        InputError: there is no such link, or it is up already.
        TestbedError: an interface or its queues have vanished, or a switch does not report.
    """
    event = _switch_link(network, a, b, up=True)
    for switch, other in ((a, b), (b, a)):
        network.queue_counters(switch, network.wiring.port(switch, other))
    return event


def _switch_link(network: LabNetwork, a: str, b: str, *, up: bool) -> LinkEvent:
    _require_link(network, a, b)
    if network.is_up(a, b) == up:
        state, other_state = ("up", "down") if up else ("down", "up")
        raise InputError("testbed", f"link {a}-{b}", f"the link is {state} already", f"one that is {other_state}")
    return LinkEvent(a, b, up, *network.switch_link(a, b, up=up))


def _require_link(network: LabNetwork, a: str, b: str) -> None:
    for node in (a, b):
        if node not in network.topology.nodes:
            raise InputError("testbed", node, "there is no such node", f"one of {', '.join(network.topology.nodes)}")
    if b not in network.topology.neighbours[a]:
        others = ", ".join(network.topology.neighbours[a])
        raise InputError("testbed", f"link {a}-{b}", "there is no such link", f"one from {a} to {others}")
