"""Paths that share as few risks as possible: fibres in one duct, buildings, power, as a file of failures lists them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from te_solver.formats.failures_file import load_failures
from te_solver.model.failures import Failure
from te_solver.tunnels.cost_graph import CostGraph
from te_solver.tunnels.finder import Path
from te_solver.tunnels.path_choice import PairRoutes, PathChoice, PathQuestion, Routes
from te_solver.tunnels.path_choices.ksp import shortest_paths

CANDIDATES = 64
"""Shortest paths of a pair among which its tunnels are chosen."""


def least_shared(candidates: Sequence[tuple[int, Path, frozenset[int]]], count: int) -> list[Path]:
    """Return the set of `count` paths whose risks recur least, of several the cheapest, sorted by cost.

    The problem is NP-hard. As the shortest path may lie in the way of all others (a trap), each candidate is tried as
    the first; the others follow one by one, each with the fewest risks that were met already (Xu et al., Journal of
    Lightwave Technology 21, 2003).

    Args:
        candidates: cost, nodes and risks of paths, the cheapest first.
        count: number of paths, at least one.
    """
    best: tuple[int, int, list[int]] | None = None
    for first in range(len(candidates)):
        chosen, shared = [first], 0
        met = dict.fromkeys(candidates[first][2], 1)
        left = [number for number in range(len(candidates)) if number != first]
        while left and len(chosen) < count and (best is None or shared <= best[0]):
            again, number = min((sum(met.get(risk, 0) for risk in candidates[at][2]), at) for at in left)
            left.remove(number)
            chosen.append(number)
            shared += again
            for risk in candidates[number][2]:
                met[risk] = met.get(risk, 0) + 1
        if len(chosen) == min(count, len(candidates)):
            found = shared, sum(candidates[at][0] for at in chosen), sorted(chosen)
            best = found if best is None else min(best, found)
    return [] if best is None else [candidates[at][1] for at in best[2]]


def _routes(question: PathQuestion) -> PairRoutes:
    if question.file is None:
        raise ValueError("no file of shared risks")
    graph = CostGraph(question.topology, question.weight)
    risks = _risks_of_edges(load_failures(question.file, question.topology))
    edges = [frozenset(edge) for edge in question.topology.edges]
    # A cable is a risk of its own.
    of_edge = {edge: frozenset({-1 - number, *risks.get(edge, ())}) for number, edge in enumerate(edges)}

    def of_pair(source: str, target: str, count: int) -> Routes:
        ends = graph.position[source], graph.position[target]
        paths = shortest_paths(graph, *ends, max(CANDIDATES, count))
        candidates = [
            (
                graph.length(path),
                path,
                frozenset[int]().union(*(of_edge[frozenset(hop)] for hop in pairwise(graph.named(path)))),
            )
            for path in paths
        ]
        chosen = least_shared(candidates, count)
        return tuple((graph.named(path), 1 / len(chosen)) for path in chosen)

    return of_pair


def _risks_of_edges(failures: Sequence[Failure]) -> dict[frozenset[str], set[int]]:
    """Return the numbers of the failures that take each edge down by itself."""
    risks: dict[frozenset[str], set[int]] = {}
    for number, failure in enumerate(failures):
        for edge in failure.edges:
            risks.setdefault(frozenset(edge), set()).add(number)
    return risks


CHOICE = PathChoice("srlg-disjoint", _routes)
