"""Small plans for tests: two ways from a to d, by b and by c, and a longer one."""

from __future__ import annotations

from te_solver.model.plan import FIRST_PATH_ID, PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology

EDGES = (("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("c", "e"), ("e", "d"))
WAYS = (("a", "b", "d"), ("a", "c", "d"), ("a", "c", "e", "d"))


def diamond(weights: tuple[float, ...] = (0.5, 0.5, 0.0), capacity: float = 100.0, delay: float = 0.001) -> Plan:
    """Return a plan with one pair, a to d, with these weights of its first tunnels."""
    links = tuple(Link(*ends, capacity, delay) for edge in EDGES for ends in (edge, edge[::-1]))
    tunnels = tuple(
        Tunnel(FIRST_PATH_ID + number, nodes, capacity * weight, weight)
        for number, (nodes, weight) in enumerate(zip(WAYS, weights, strict=False))
    )
    pair = PairPlan("a", "d", capacity, capacity, tunnels)
    return Plan(Topology("diamond", tuple("abcde"), links), (pair,), "none", 0.0, "none", 0.0)
