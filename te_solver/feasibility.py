"""Checks plans against their own topology and demands; every solution and every plan file passes through here."""

from __future__ import annotations

from te_solver.errors import UnsoundError, quoted
from te_solver.plan import PairPlan, Plan, Tunnel
from te_solver.topology import Topology

TOLERANCE = 1e-6
"""Relative, for sums of numbers that were rounded on the way."""

Where = tuple[str | int, ...]


def require_feasible(plan: Plan) -> None:
    """Both checks below.

    Raises:
        UnsoundError: at the first fault.
    """
    require_sound_tunnels(plan)
    require_within_bounds(plan)


def require_sound_tunnels(plan: Plan) -> None:
    """Each pair stands once and has tunnels: simple paths over links, ids not repeated, weights that sum to one.

    Raises:
        UnsoundError: at the first fault.
    """
    pairs: set[tuple[str, str]] = set()
    path_ids: set[int] = set()
    for index, pair in enumerate(plan.pairs):
        where: Where = ("pairs", index)
        ends = (pair.source, pair.target)
        for key, node in zip(("source", "target"), ends, strict=True):
            if not plan.topology.has_node(node):
                raise UnsoundError((*where, key), f"unknown node {quoted(node)}", "a node of the topology")
        if pair.source == pair.target:
            raise UnsoundError((*where, "target"), f"a pair of {pair.source} with itself", "two different nodes")
        if ends in pairs:
            raise UnsoundError(where, f"a second pair from {pair.source} to {pair.target}", "each pair once")
        pairs.add(ends)
        for number, tunnel in enumerate(pair.tunnels):
            inside = (*where, "tunnels", number)
            _require_path(plan.topology, pair, tunnel, (*inside, "nodes"))
            if tunnel.path_id in path_ids:
                raise UnsoundError((*inside, "path_id"), f"path id {tunnel.path_id} is given twice", "different ids")
            path_ids.add(tunnel.path_id)
        _require_weights(pair, (*where, "tunnels"))


def require_within_bounds(plan: Plan) -> None:
    """No rate is negative, no pair above its demand or its tunnels' rates, no link above its capacity.

    Raises:
        UnsoundError: at the first excess of more than one part in a million.
    """
    for index, pair in enumerate(plan.pairs):
        for number, tunnel in enumerate(pair.tunnels):
            if not tunnel.rate >= 0:
                raise UnsoundError(
                    ("pairs", index, "tunnels", number, "rate"), f"rate {tunnel.rate:g}", "no less than 0"
                )
        offered = sum(tunnel.rate for tunnel in pair.tunnels)
        bound = min(pair.demand, offered)
        if not 0 <= pair.allocated <= bound * (1 + TOLERANCE):
            raise UnsoundError(
                ("pairs", index, "allocated"),
                f"{pair.allocated:g} Mbit/s allocated",
                f"no more than the demand, {pair.demand:g}, and the tunnels' rates together, {offered:g}",
            )
    for position, link in enumerate(plan.topology.links):
        load = plan.link_loads[link.ends]
        if not load <= link.capacity * (1 + TOLERANCE):
            raise UnsoundError(
                ("topology", "links", position, "capacity"),
                f"tunnels put {load:g} Mbit/s on link {link.source}-{link.target}",
                f"no more than its capacity, {link.capacity:g}",
            )


def _require_path(topology: Topology, pair: PairPlan, tunnel: Tunnel, where: Where) -> None:
    if not tunnel.nodes or (tunnel.nodes[0], tunnel.nodes[-1]) != (pair.source, pair.target):
        raise UnsoundError(where, "the tunnel does not join the pair", f"a path from {pair.source} to {pair.target}")
    if len(set(tunnel.nodes)) < len(tunnel.nodes):
        raise UnsoundError(where, "the tunnel meets a node twice", "a path without a loop")
    for a, b in tunnel.hops:
        if not topology.has_link(a, b):
            raise UnsoundError(where, f"there is no link {a}-{b}", "a path over links of the topology")


def _require_weights(pair: PairPlan, where: Where) -> None:
    for number, tunnel in enumerate(pair.tunnels):
        if not 0 <= tunnel.weight <= 1 + TOLERANCE:
            raise UnsoundError((*where, number, "weight"), f"weight {tunnel.weight:g}", "a number from 0 to 1")
    total = sum(tunnel.weight for tunnel in pair.tunnels)
    if not abs(total - 1) <= TOLERANCE:
        raise UnsoundError(where, f"the weights sum to {total:g}", "a sum of 1")
