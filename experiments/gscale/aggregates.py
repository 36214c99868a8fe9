"""The aggregated flows of a plan: each tunnel has one for every other tunnel it may be rescaled to; pure."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.measuring.wanted_flow import WantedFlow
from experiments.results.result import Role
from experiments.results.roles import FlowPaths, roles
from te_solver.model.plan import PairPlan, Plan, Tunnel

MIN_SHARE = 0.02
"""Least share of its pair's traffic that an aggregate must have; a smaller one may get none of 64 hash slots."""


def aggregates_of(plan: Plan, link: tuple[str, str]) -> tuple[WantedFlow, ...]:
    """Return the flows of every pair: on tunnel i one aggregate for each other tunnel j, named `SOURCE-TARGET/i-j`.

    Aggregate i-j offers rate_i w_j / sum of w_k over all k but i: of 300 Mbit/s with weights .5, .3 and .2, the two on
    the first tunnel offer 90 and 60 Mbit/s (section 5.1). Where all w_j are zero the shares are equal. An aggregate of
    less than `MIN_SHARE` of its pair joins its largest sibling; a tunnel with less than that in total sends nothing.
    With
    two classes of traffic, names end in `/high` and `/low`.

    Args:
        plan: rates and weights of the tunnels.
        link: link that will fail. The `backup` of its victims is j or, if j fails too, the alive tunnel of greatest
            weight, as at the ingress; the `backup` of other aggregates is their own tunnel.

    Raises:
        ValueError: the link takes all tunnels of a pair.
    """
    suffixes = ("/high", "/low") if any(pair.priority for pair in plan.pairs) else ("",)
    return tuple(flow for pair in plan.pairs for flow in _of_pair(pair, link, suffixes[pair.priority]))


def roles_of(flows: Sequence[WantedFlow], link: tuple[str, str], *, either_direction: bool = False) -> dict[str, Role]:
    """Return the role of each aggregate in the failure that its backup tunnel is for."""
    paths = {flow.name: FlowPaths(flow.tunnel.nodes, flow.backup.nodes) for flow in flows}
    return roles(paths, link, either_direction=either_direction)


def _of_pair(pair: PairPlan, link: tuple[str, str], suffix: str) -> list[WantedFlow]:
    flows = []
    for number, tunnel in enumerate(pair.tunnels, start=1):
        for other, share in _shares(pair, tunnel).items():
            name = f"{pair.source}-{pair.target}/{number}-{pair.tunnels.index(other) + 1}{suffix}"
            backup = _survivor(pair, other, link) if tunnel.crosses(*link) else tunnel
            offered = share * pair.allocated
            flows.append(WantedFlow(name, offered, pair.source, pair.target, tunnel, backup, pair.priority))
    return flows


def _shares(pair: PairPlan, tunnel: Tunnel) -> dict[Tunnel, float]:
    """Return the share of the pair's traffic that is on `tunnel` and promised to each other tunnel."""
    others = [other for other in pair.tunnels if other != tunnel]
    weights = [other.weight for other in others]
    total = sum(weights)
    parts = [weight / total if total > 0 else 1 / len(others) for weight in weights]
    shares = {other: tunnel.weight * part for other, part in zip(others, parts, strict=True)}
    kept = {other: share for other, share in shares.items() if share >= MIN_SHARE}
    if len(kept) < len(shares) and tunnel.weight >= MIN_SHARE:
        largest = max(shares, key=shares.__getitem__)
        kept[largest] = tunnel.weight - sum(share for other, share in kept.items() if other != largest)
    return kept


def _survivor(pair: PairPlan, promised: Tunnel, link: tuple[str, str]) -> Tunnel:
    alive = [tunnel for tunnel in pair.tunnels if not tunnel.crosses(*link)]
    if not alive:
        raise ValueError(f"{'-'.join(link)} takes all tunnels from {pair.source} to {pair.target}")
    return promised if promised in alive else max(alive, key=lambda tunnel: tunnel.weight)
