"""Valiant load balancing: over every node in turn, by shortest paths (Zhang-Shen and McKeown, HotNets 2004)."""

from __future__ import annotations

from collections import Counter
from functools import cache

from te_solver.tunnels.cost_graph import CostGraph, without_loops
from te_solver.tunnels.finder import Path
from te_solver.tunnels.path_choice import PairRoutes, PathChoice, PathQuestion, Routes


def _routes(question: PathQuestion) -> PairRoutes:
    graph = CostGraph(question.topology, question.weight)

    @cache
    def shortest(start: int, end: int) -> Path | None:
        return (start,) if start == end else graph.cheapest((start,), end)

    def of_pair(source: str, target: str, count: int) -> Routes:
        """Each node is passed by the same share, without the loops; the ends stand for the direct path."""
        start, end = graph.position[source], graph.position[target]
        over = Counter[Path]()
        for middle in range(len(graph.names)):
            there, back = shortest(start, middle), shortest(middle, end)
            if there is not None and back is not None:
                over[without_loops(there + back[1:])] += 1
        kept = sorted(over.items(), key=lambda each: (-each[1], graph.length(each[0]), each[0]))[:count]
        return tuple((graph.named(path), times / over.total()) for path, times in kept)

    return of_pair


CHOICE = PathChoice("vlb", _routes)
