"""Checks of plans against their own topology and demands; every solution and every plan file passes them."""

from __future__ import annotations

from kuijia_base.errors import UnsoundError, quoted
from te_solver.exposure import Exposure
from te_solver.plan import PairPlan, Plan, Tunnel
from te_solver.programs.registry import carries_all
from te_solver.topology import Topology

TOLERANCE = 1e-6
"""Relative tolerance for sums of rounded numbers; messages show eight digits, so that an excess is seen."""

Where = tuple[str | int, ...]


def require_feasible(plan: Plan) -> None:
    """Run all checks below.

    Raises:
        UnsoundError: at the first fault.
    """
    require_sound_tunnels(plan)
    require_within_bounds(plan)
    require_protected(plan)


def require_sound_tunnels(plan: Plan) -> None:
    """Require that each pair occurs once in a class and has sound tunnels: simple paths, weights that sum to one.

    A path id names one tunnel of one pair; the classes of a pair share its tunnels.

    Raises:
        UnsoundError: at the first fault.
    """
    classes: set[tuple[str, str, int]] = set()
    tunnels_of: dict[tuple[str, str], list[tuple[int, tuple[str, ...]]]] = {}
    path_ids: set[int] = set()
    for index, pair in enumerate(plan.pairs):
        where: Where = ("pairs", index)
        ends = (pair.source, pair.target)
        _require_ends(plan.topology, pair, where)
        if (*ends, pair.priority) in classes:
            raise UnsoundError(
                where,
                f"a second pair from {pair.source} to {pair.target} with priority {pair.priority}",
                "each pair once in a class",
            )
        classes.add((*ends, pair.priority))
        tunnels = [(tunnel.path_id, tunnel.nodes) for tunnel in pair.tunnels]
        if tunnels_of.setdefault(ends, tunnels) is tunnels:
            for number, tunnel in enumerate(pair.tunnels):
                inside = (*where, "tunnels", number)
                _require_path(plan.topology, pair, tunnel, (*inside, "nodes"))
                if tunnel.path_id in path_ids:
                    raise UnsoundError(
                        (*inside, "path_id"), f"path id {tunnel.path_id} is given twice", "different ids"
                    )
                path_ids.add(tunnel.path_id)
        elif tunnels_of[ends] != tunnels:
            raise UnsoundError((*where, "tunnels"), "other tunnels than another class of the pair has", "the same")
        _require_weights(pair, (*where, "tunnels"))


def require_within_bounds(plan: Plan) -> None:
    """Require that no rate is negative, no pair exceeds its demand or its tunnels' rates, no link its capacity.

    A plan of an objective that `carries_all` must instead carry all demand, and no link may exceed the plan's
    utilisation.

    Raises:
        UnsoundError: at the first excess of more than one part in a million.
    """
    all_carried = carries_all(plan.objective)
    for index, pair in enumerate(plan.pairs):
        for number, tunnel in enumerate(pair.tunnels):
            if not tunnel.rate >= 0:
                raise UnsoundError(
                    ("pairs", index, "tunnels", number, "rate"), f"rate {tunnel.rate:.8g}", "no less than 0"
                )
        offered = sum(tunnel.rate for tunnel in pair.tunnels)
        bound = min(pair.demand, offered)
        if not 0 <= pair.allocated <= bound * (1 + TOLERANCE):
            raise UnsoundError(
                ("pairs", index, "allocated"),
                f"{pair.allocated:.8g} Mbit/s allocated",
                f"no more than the demand, {pair.demand:.8g}, and the tunnels' rates together, {offered:.8g}",
            )
        if all_carried and pair.allocated < pair.demand * (1 - TOLERANCE):
            raise UnsoundError(
                ("pairs", index, "allocated"),
                f"{pair.allocated:.8g} Mbit/s allocated",
                f"the demand, {pair.demand:.8g}",
            )
    for position, link in enumerate(plan.topology.links):
        load = plan.link_loads[link.ends]
        bound = link.capacity * plan.objective_value if all_carried else link.capacity
        if not load <= bound * (1 + TOLERANCE):
            raise UnsoundError(
                ("topology", "links", position, "capacity"),
                f"tunnels put {load:.8g} Mbit/s on link {link.source}-{link.target}",
                f"no more than {bound:.8g}, {plan.objective_value:.8g} times its capacity"
                if all_carried
                else f"no more than its capacity, {bound:.8g}",
            )


def require_protected(plan: Plan) -> None:
    """Require that each pair's allocation fits into the rates of the tunnels left after the worst failure.

    Rescaling then sends no tunnel more than its rate, so no link gets more than its capacity.

    Raises:
        UnsoundError: at the first pair that could lose more than one part in a million.
    """
    if plan.protected_failures == 0:
        return
    for index, pair in enumerate(plan.pairs):
        rates = [tunnel.rate for tunnel in pair.tunnels]
        exposure = Exposure.of_paths([tunnel.nodes for tunnel in pair.tunnels])
        left = exposure.surviving(rates, plan.protected_failures)
        if not pair.allocated <= left * (1 + TOLERANCE):
            raise UnsoundError(
                ("pairs", index, "allocated"),
                f"{pair.allocated:.8g} Mbit/s allocated",
                f"no more than protection against {plan.protected_failures} leaves of the tunnels' rates, {left:.8g}",
            )


def _require_ends(topology: Topology, pair: PairPlan, where: Where) -> None:
    for key, node in (("source", pair.source), ("target", pair.target)):
        if not topology.has_node(node):
            raise UnsoundError((*where, key), f"unknown node {quoted(node)}", "a node of the topology")
    if pair.source == pair.target:
        raise UnsoundError((*where, "target"), f"a pair of {pair.source} with itself", "two different nodes")


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
            raise UnsoundError((*where, number, "weight"), f"weight {tunnel.weight:.8g}", "a number from 0 to 1")
    total = sum(tunnel.weight for tunnel in pair.tunnels)
    if not abs(total - 1) <= TOLERANCE:
        raise UnsoundError(where, f"the weights sum to {total:.8g}", "a sum of 1")
