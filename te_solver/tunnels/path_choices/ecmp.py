"""All shortest paths, with traffic split evenly at each hop as routers do (RFC 2992)."""

from __future__ import annotations

from fractions import Fraction
from heapq import nsmallest

from te_solver.tunnels.cost_graph import CostGraph
from te_solver.tunnels.finder import Path
from te_solver.tunnels.path_choice import PairRoutes, PathChoice, PathQuestion, Routes
from te_solver.tunnels.path_search import NOWHERE, search

_Shared = tuple[Fraction, Path]
"""The share of what arrives at the first node, negative so that the largest sorts first, and a path."""


def _routes(question: PathQuestion) -> PairRoutes:
    graph = CostGraph(question.topology, question.weight)
    entering = [
        [(tail, graph.metric[tail, head], 0) for tail, _, _ in steps] for head, steps in enumerate(graph.entering)
    ]
    next_hops: dict[int, dict[int, list[int]]] = {}

    def to(target: int) -> dict[int, list[int]]:
        """Return the next hops towards a node, of all nodes from the nearest to the farthest."""
        if target not in next_hops:
            cost, _ = search(entering, target, NOWHERE, [0] * len(entering))
            next_hops[target] = {
                node: [
                    head
                    for head, _, _ in graph.leaving[node]
                    if head in cost and cost[head] + graph.metric[node, head] == far
                ]
                for node, far in sorted(cost.items(), key=lambda each: each[1])
            }
        return next_hops[target]

    def of_pair(source: str, target: str, count: int) -> Routes:
        start, end = graph.position[source], graph.position[target]
        hops = to(end)
        if start not in hops:
            return ()
        best: dict[int, list[_Shared]] = {end: [(Fraction(-1), (end,))]}
        on_the_way = _reached(hops, start)
        for node in hops:
            if node != end and node in on_the_way:
                part = Fraction(1, len(hops[node]))
                further = [(share * part, (node, *path)) for head in hops[node] for share, path in best[head]]
                # The largest shares of a path are made of the largest shares of its rest.
                best[node] = nsmallest(count, further)
        return tuple((graph.named(path), float(-share)) for share, path in best[start])

    return of_pair


def _reached(hops: dict[int, list[int]], start: int) -> set[int]:
    reached, pending = {start}, [start]
    while pending:
        for head in hops[pending.pop()]:
            if head not in reached:
                reached.add(head)
                pending.append(head)
    return reached


CHOICE = PathChoice("ecmp", _routes)
