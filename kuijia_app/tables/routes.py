"""Tunnels by direction of traffic: a Plan's pairs, and the way back for those planned in one direction only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from te_solver.model.plan import Plan, Tunnel


@dataclass(frozen=True, slots=True)
class Route:
    """One tunnel in one direction: its path id, the switches from ingress to egress, its weight."""

    path_id: int
    nodes: tuple[str, ...]
    weight: float

    @property
    def next_hop(self) -> str:
        return self.nodes[1]

    @property
    def remote_edges(self) -> frozenset[frozenset[str]]:
        """Edges whose failure the ingress cannot see on its own port: all but the first."""
        return frozenset(frozenset(hop) for hop in zip(self.nodes[1:], self.nodes[2:], strict=False))


@dataclass(frozen=True, slots=True)
class RoutedPair:
    """All traffic of one class from one ingress to one egress, and the routes it is split over.

    `priority` is that of `te_solver.model.plan.PairPlan`.
    """

    ingress: str
    egress: str
    routes: tuple[Route, ...]
    priority: int = 0

    @property
    def ends(self) -> tuple[str, str]:
        return self.ingress, self.egress


def directions(plan: Plan) -> tuple[RoutedPair, ...]:
    """Return every ingress-egress direction and class that needs forwarding.

    TCP needs its acknowledgements, so a class of a pair planned in one direction only also gets its way back: the same
    path ids and weights over the same links (Zhang et al., Kuijia, section 4.2).
    """
    planned = {(pair.source, pair.target, pair.priority) for pair in plan.pairs}
    result: list[RoutedPair] = []
    for pair in plan.pairs:
        there = tuple(_route(tunnel) for tunnel in pair.tunnels)
        result.append(RoutedPair(pair.source, pair.target, there, pair.priority))
        if (pair.target, pair.source, pair.priority) not in planned:
            back = tuple(_route(tunnel, reverse=True) for tunnel in pair.tunnels)
            result.append(RoutedPair(pair.target, pair.source, back, pair.priority))
    return tuple(result)


def classes_by_ends(all_directions: Iterable[RoutedPair]) -> dict[tuple[str, str], tuple[RoutedPair, ...]]:
    """Return the directions of each (ingress, egress), the most important class first."""
    found: dict[tuple[str, str], list[RoutedPair]] = {}
    for direction in all_directions:
        found.setdefault(direction.ends, []).append(direction)
    return {ends: tuple(sorted(classes, key=lambda each: each.priority)) for ends, classes in found.items()}


def _route(tunnel: Tunnel, *, reverse: bool = False) -> Route:
    nodes = tunnel.nodes[::-1] if reverse else tunnel.nodes
    return Route(tunnel.path_id, nodes, tunnel.weight)
