"""Limits of link rates, and the commands that limit a host."""

from __future__ import annotations

from kuijia_app.preparation.queues import MAX_CAPACITY, MAX_FRAME, MIN_CAPACITY
from kuijia_app.tables.needs import HOST_MTU, label_bytes
from kuijia_app.tables.options import Tagging
from kuijia_base.errors import InputError
from te_solver.model.topology import Topology

LINK_MTU = HOST_MTU + label_bytes(Tagging.MPLS, labelled_hosts=True)
"""MTU of a link: a host's packet, which may be labelled already, and our label."""


def require_possible_links(topology: Topology) -> None:
    """Raise InputError if a link is one-way, or too slow or too fast for queues."""
    for a, b in topology.edges:
        if not (topology.has_link(a, b) and topology.has_link(b, a)):
            raise InputError(topology.name, f"link {a}-{b}", "the link goes in one direction only", "one each way")
    for link in topology.links:
        if not MIN_CAPACITY <= link.capacity <= MAX_CAPACITY:
            problem = f"{link.capacity:g} Mbit/s cannot be emulated"
            expected = f"{MIN_CAPACITY:g} to {MAX_CAPACITY:g} Mbit/s"
            raise InputError(topology.name, f"link {link.source}-{link.target}", problem, expected)


def interface_rate_commands(interface: str, capacity: float, buffer_packets: int) -> list[list[str]]:
    """Return the arguments of the `tc` commands that limit a host to `capacity` Mbit/s through `interface`."""
    rate = f"{round(capacity * 1000)}kbit"
    burst = f"burst {MAX_FRAME} cburst {MAX_FRAME} quantum {MAX_FRAME}"
    commands = [
        f"qdisc add dev {interface} root handle 1: htb default 1",
        f"class add dev {interface} parent 1: classid 1:1 htb rate {rate} ceil {rate} {burst}",
        f"qdisc add dev {interface} parent 1:1 pfifo limit {buffer_packets}",
    ]
    return [command.split() for command in commands]
