"""Summary of a plan as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kuijia_base.quantities import counted, duration, rate, rate_of, share
from te_solver.model.exposure import Exposure
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.programs.registry import MAX_MIN, carries_all, share_words
from te_solver.tunnels.finder import TunnelFinder

Lines = list[str]


def plan_summary(plan: Plan, tunnels_per_pair: int, listed: int | None) -> Lines:
    """Return the summary; each part names at most `listed` pairs or links, all if it is None."""
    return [
        _size(plan),
        *_allocated(plan),
        *([] if plan.solver == "none" else [f"{plan.solver}: {_time(plan.solve_seconds)}"]),
        "",
        "tunnels (share of the pair's traffic, rate set aside, path)"
        if plan.protected_failures
        else "tunnels (share of the pair's traffic, rate, path)",
        *_bounded(map(_pair_lines, plan.pairs), len(plan.pairs), listed, "pair"),
        "",
        "links with the most set aside" if plan.protected_failures else "most loaded links",
        *_link_lines(plan, listed),
        *_unprotected_lines(plan, listed),
        *_shared_lines(plan, tunnels_per_pair, listed),
    ]


def _size(plan: Plan) -> str:
    sizes = [
        counted(len(plan.topology.nodes), "node"),
        counted(len(plan.topology.edges), "edge"),
        counted(len({(pair.source, pair.target) for pair in plan.pairs}), "pair"),
        counted(len({tunnel.path_id for tunnel in plan.tunnels}), "tunnel"),
    ]
    return f"{plan.topology.name}: {', '.join(sizes)}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else duration(seconds)


def _allocated(plan: Plan) -> Iterator[str]:
    yield f"{plan.objective}: {_share(plan.pairs)} allocated"
    priorities = sorted({pair.priority for pair in plan.pairs})
    if len(priorities) > 1:
        for priority in priorities:
            yield f"  priority {priority}: {_share([pair for pair in plan.pairs if pair.priority == priority])}"
    if plan.upper_bound is not None:
        missing = max(0.0, 1 - plan.objective_value / plan.upper_bound) if plan.upper_bound > 0 else 0.0
        yield f"at most {share(missing)} below the optimum: {rate(plan.upper_bound)} is an upper bound"
    if plan.objective == MAX_MIN:
        yield f"least allocation of a pair: {rate(plan.objective_value)}"
    if words := share_words(plan.objective):
        yield f"{words}: {share(plan.objective_value)}"
    if carries_all(plan.objective):
        yield f"maximum utilisation: {share(plan.objective_value)}"
    if plan.protected_failures:
        set_aside = sum(tunnel.rate for tunnel in plan.tunnels)
        failures = counted(plan.protected_failures, "failed edge")
        yield f"protected against {failures}: {rate(set_aside)} set aside on tunnels"


def _share(pairs: Sequence[PairPlan]) -> str:
    demand = sum(pair.demand for pair in pairs)
    allocated = sum(pair.allocated for pair in pairs)
    satisfied = f" ({share(allocated / demand)})" if demand > 0 else ""
    return f"{rate_of(allocated, demand)}{satisfied}"


def path_of(tunnel: Tunnel) -> str:
    """Return the nodes of a path, with commas between them if a name has spaces."""
    separator = ", " if any(" " in node for node in tunnel.nodes) else " "
    return separator.join(tunnel.nodes)


def _pair_lines(pair: PairPlan) -> Lines:
    priority = f", priority {pair.priority}" if pair.priority else ""
    return [
        f"  {pair.source} -> {pair.target}{priority}: {rate_of(pair.allocated, pair.demand)}",
        *(f"    {share(tunnel.weight):>7} {rate(tunnel.rate):>12}  {path_of(tunnel)}" for tunnel in pair.tunnels),
    ]


def _link_lines(plan: Plan, listed: int | None) -> Lines:
    used = [(plan.link_loads[link.ends], link) for link in plan.topology.links if plan.link_loads[link.ends] > 0]
    used.sort(key=lambda each: each[0] / each[1].capacity, reverse=True)
    lines = (
        [f"  {share(load / link.capacity):>7}  {link.source} -> {link.target}: {rate_of(load, link.capacity)}"]
        for load, link in used
    )
    return _bounded(lines, len(used), listed, "link") or ["  no link carries traffic"]


def _unprotected_lines(plan: Plan, listed: int | None) -> Lines:
    """Return lines on the pairs that so few failures can cut off that they get no protected rate."""
    failures = plan.protected_failures
    if not failures:
        return []
    pairs = [
        pair
        for pair in _one_class(plan)
        if Exposure.of_paths([tunnel.nodes for tunnel in pair.tunnels]).failures_to_cut_off <= failures
    ]
    if not pairs:
        return []
    lines = ([f"  {pair.source} -> {pair.target}"] for pair in pairs)
    head = f"pairs that {counted(failures, 'failed edge')} can cut off, so that they get nothing: {len(pairs)}"
    return ["", head, *_bounded(lines, len(pairs), listed, "pair")]


def _shared_lines(plan: Plan, tunnels_per_pair: int, listed: int | None) -> Lines:
    pairs = _one_class(plan)
    fewer = [pair for pair in pairs if len(pair.tunnels) < tunnels_per_pair or _meet(pair)]
    if not fewer:
        return []
    finder = TunnelFinder(plan.topology)

    def line(pair: PairPlan) -> Lines:
        disjoint = finder.count_disjoint(pair.source, pair.target, tunnels_per_pair)
        existing = f"{counted(disjoint, 'edge-disjoint path')} exist{'s' if disjoint == 1 else ''}"
        return [f"  {pair.source} -> {pair.target}: {counted(len(pair.tunnels), 'tunnel')}, {existing}"]

    head = f"pairs with fewer than {tunnels_per_pair} edge-disjoint tunnels: {len(fewer)} of {len(pairs)}"
    return ["", head, *_bounded(map(line, fewer), len(fewer), listed, "pair")]


def _one_class(plan: Plan) -> list[PairPlan]:
    """Return every pair once, whatever its classes of traffic."""
    return list({(pair.source, pair.target): pair for pair in reversed(plan.pairs)}.values())[::-1]


def _meet(pair: PairPlan) -> bool:
    """Return True if two of the pair's tunnels share an edge."""
    edges = [frozenset(hop) for tunnel in pair.tunnels for hop in tunnel.hops]
    return len(set(edges)) < len(edges)


def _bounded(entries: Iterable[Lines], number: int, listed: int | None, what: str) -> Lines:
    """Return the lines of the first `listed` entries, and the number of others, whose lines are not made."""
    lines = [line for entry in islice(entries, listed) for line in entry]
    left_out = number - listed if listed is not None else 0
    return [*lines, f"  ... and {counted(left_out, what)} more; -v shows all"] if left_out > 0 else lines
