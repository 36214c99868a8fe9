"""Rates of a topology's ports, and their limits for queues."""

from __future__ import annotations

from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import InputError
from te_solver.topology import Topology
from testbed.network.queues import MAX_CAPACITY, MIN_CAPACITY


def port_capacity(wiring: Wiring, switch: str, port: int) -> float:
    """Return the rate of a port's queues in Mbit/s.

    A host's port without a given capacity gets the sum of all links to its switch.
    """
    topology = wiring.topology
    neighbour = wiring.neighbour_at(switch, port)
    if neighbour is not None:
        return topology.link(switch, neighbour).capacity
    for site in wiring.sites:
        if (site.switch, site.port) == (switch, port) and site.capacity is not None:
            return site.capacity
    arriving = sum(topology.link(other, switch).capacity for other in topology.neighbours[switch])
    return arriving or max(link.capacity for link in topology.links)  # nothing arrives at a site without links


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
