"""Hypothesis strategies for plans that keep every bound, and for failures of their networks."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume
from hypothesis import strategies as st

from te_solver.model.failures import Failure
from te_solver.model.plan import FIRST_PATH_ID, PairPlan, Plan, Tunnel
from te_solver.model.topology import Topology
from te_solver.tunnels.finder import TunnelFinder
from tests.te_solver.random_networks import demands_on, topologies


@st.composite
def plans(draw: st.DrawFn, *, classes: int = 2, max_tunnels: int = 4) -> Plan:
    """Plans of any weights, some of them zero; a pair may have traffic in each class, on the same tunnels."""
    topology = draw(topologies(directed=draw(st.booleans())))
    demands = draw(demands_on(topology))
    assume(demands)
    pairs: list[PairPlan] = []
    path_id = FIRST_PATH_ID
    for demand in demands:
        paths = TunnelFinder(topology).tunnels(demand.source, demand.target, draw(st.integers(1, max_tunnels)))
        for priority in draw(st.sets(st.integers(0, classes - 1), min_size=1)):
            shares = draw(st.lists(st.integers(0, 9), min_size=len(paths), max_size=len(paths)).filter(any))
            tunnels = tuple(
                Tunnel(path_id + position, path, demand.rate * share / sum(shares), share / sum(shares))
                for position, (path, share) in enumerate(zip(paths, shares, strict=True))
            )
            pairs.append(PairPlan(*demand.pair, demand.rate, demand.rate, tunnels, priority))
        path_id += len(paths)
    return within_capacity(Plan(topology, tuple(pairs), "any", 0.0, "none", 0.0))


def within_capacity(plan: Plan) -> Plan:
    """Return the plan with all rates lowered by one factor until no link is overloaded; demands stay."""
    worst = max(plan.link_loads[link.ends] / link.capacity for link in plan.topology.links)
    factor = 1 / max(1.0, worst)
    pairs = tuple(
        replace(
            pair,
            allocated=pair.allocated * factor,
            tunnels=tuple(replace(tunnel, rate=tunnel.rate * factor) for tunnel in pair.tunnels),
        )
        for pair in plan.pairs
    )
    return replace(plan, pairs=pairs)


@st.composite
def failures(draw: st.DrawFn, topology: Topology) -> Failure:
    """Up to three edges, their ends in either order, and up to one node."""
    edges = draw(st.lists(st.sampled_from(topology.edges), max_size=3, unique=True))
    turned = [edge[::-1] if draw(st.booleans()) else edge for edge in edges]
    nodes = draw(st.lists(st.sampled_from(topology.nodes), max_size=1))
    return Failure("drawn", tuple(turned), tuple(nodes))
