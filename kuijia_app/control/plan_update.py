"""Prepares a plan for the switches: path ids of its tunnels, its network, and the room that its links have; pure."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import count

from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import UnsoundError
from kuijia_base.quantities import counted, rate
from te_solver.model.plan import FIRST_PATH_ID, LAST_PATH_ID, Plan

Path = tuple[str, ...]

FULL = 1 + 1e-3
"""Load of a link relative to its capacity up to which it counts as full: solvers' tolerances are smaller."""


def renumber(new: Plan, old: Plan, unavailable: AbstractSet[int] = frozenset()) -> Plan:
    """Return the new plan with the old plan's path ids for unchanged paths, and free ids for the others.

    A path that stays keeps its id, whatever its weight. Others get the lowest ids that the old plan does not use.
    Classes of a pair share their tunnels, and so their ids.

    Args:
        new: the plan to renumber; its own ids do not matter.
        old: the plan on the switches.
        unavailable: ids of earlier plans, which packets or switches may still use.

    Raises:
        UnsoundError: there are not enough ids.
    """
    kept = {tunnel.nodes: tunnel.path_id for tunnel in old.tunnels}
    taken = set(kept.values()) | unavailable
    free = (path_id for path_id in count(FIRST_PATH_ID) if path_id not in taken)
    ids: dict[Path, int] = {}
    for tunnel in new.tunnels:
        if tunnel.nodes not in ids:
            ids[tunnel.nodes] = kept[tunnel.nodes] if tunnel.nodes in kept else next(free)
    if max(ids.values(), default=FIRST_PATH_ID) > LAST_PATH_ID:
        raise UnsoundError(("pairs",), f"more than {LAST_PATH_ID} path ids", "fewer tunnels, or drained ones")
    return replace(
        new,
        pairs=tuple(
            replace(pair, tunnels=tuple(replace(tunnel, path_id=ids[tunnel.nodes]) for tunnel in pair.tunnels))
            for pair in new.pairs
        ),
    )


def is_same_plan(one: Plan, other: Plan) -> bool:
    """Return True if two plans differ in path ids at most."""
    return _without_ids(one) == _without_ids(other)


def _without_ids(plan: Plan) -> Plan:
    pairs = (
        replace(pair, tunnels=tuple(replace(tunnel, path_id=FIRST_PATH_ID) for tunnel in pair.tunnels))
        for pair in plan.pairs
    )
    return replace(plan, pairs=tuple(pairs))


def require_same_network(new: Plan, old: Plan) -> None:
    """Raise UnsoundError if the new plan has other switches or cables than the old one."""
    theirs, ours = Wiring(new.topology), Wiring(old.topology)
    if theirs.topology.nodes != ours.topology.nodes:
        raise UnsoundError(("topology", "nodes"), "are not those of the plan in force", "the same, in the same order")
    for node in ours.topology.nodes:
        if theirs.topology.neighbours[node] != ours.topology.neighbours[node]:
            raise UnsoundError(
                ("topology", "links"), f"node {node} has other neighbours than in the plan in force", "the same network"
            )


def overload_of(plan: Plan) -> str | None:
    """Return in words which link a plan overloads most and how many others, None if none.

    Switches would lose the excess; models accept such plans, as they can say whose packets it is.
    """
    loads = plan.link_loads
    over = [link for link in plan.topology.links if loads[link.ends] > FULL * link.capacity]
    if not over:
        return None
    link = max(over, key=lambda each: loads[each.ends] - each.capacity)
    load, excess = loads[link.ends], loads[link.ends] - link.capacity
    more = f"; {counted(len(over) - 1, 'other link')} too" if len(over) > 1 else ""
    where = f"link {link.source}->{link.target} of {rate(link.capacity)}"
    return f"the plan sends {rate(load)} over {where}, {rate(excess)} too much{more}"
