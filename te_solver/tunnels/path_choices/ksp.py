"""The k shortest paths of a pair (Yen, Management Science 17, 1971; Lawler, Management Science 18, 1972)."""

from __future__ import annotations

from heapq import heappop, heappush

from te_solver.tunnels.cost_graph import CostGraph
from te_solver.tunnels.finder import Path
from te_solver.tunnels.path_choice import PairRoutes, PathChoice, PathQuestion, Routes


def shortest_paths(graph: CostGraph, source: int, target: int, count: int) -> list[Path]:
    """Return the `count` cheapest simple paths, by cost, then in the order of nodes; fewer if there are no more.

    All paths that are not found yet are divided into classes by how they begin and by which nodes cannot follow; the
    cheapest of each class waits in a heap.
    """
    found: list[Path] = []
    waiting: list[tuple[int, Path, int, tuple[int, ...]]] = []

    def add(begun: Path, without: tuple[int, ...]) -> None:
        path = graph.cheapest(begun, target, without)
        if path is not None:
            heappush(waiting, (graph.length(path), path, len(begun), without))

    add((source,), ())
    while waiting and len(found) < count:
        _, path, begun, without = heappop(waiting)
        found.append(path)
        for kept in range(begun, len(path)):
            add(path[:kept], (*(without if kept == begun else ()), path[kept]))
    return found


def _routes(question: PathQuestion) -> PairRoutes:
    graph = CostGraph(question.topology, question.weight)

    def of_pair(source: str, target: str, count: int) -> Routes:
        paths = shortest_paths(graph, graph.position[source], graph.position[target], count)
        return tuple((graph.named(path), 1 / len(paths)) for path in paths)

    return of_pair


CHOICE = PathChoice("ksp", _routes)
