"""The choice `one-hop-more`: all paths that are at most one hop longer than the shortest."""

from __future__ import annotations

from kuijia.te_solver.tunnels.cost_graph import CostGraph
from kuijia.te_solver.tunnels.path_choice import PairRoutes, PathChoice, PathQuestion, Routes
from kuijia.te_solver.tunnels.path_choices.ksp import shortest_paths


def _routes(question: PathQuestion) -> PairRoutes:
    graph = CostGraph(question.topology, "hops")

    def of_pair(source: str, target: str, count: int) -> Routes:
        paths = shortest_paths(graph, graph.position[source], graph.position[target], count)
        kept = [path for path in paths if len(path) <= len(paths[0]) + 1]
        return tuple((graph.named(path), 1 / len(kept)) for path in kept)

    return of_pair


ONE_HOP_MORE = PathChoice("one-hop-more", _routes)
