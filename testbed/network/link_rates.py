"""Limits of link rates for queues."""

from __future__ import annotations

from kuijia_base.errors import InputError
from te_solver.topology import Topology
from testbed.network.queues import MAX_CAPACITY, MIN_CAPACITY


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
