"""Edge-disjoint paths of a maximum flow, the shortest of them: what NCFlow and POP choose paths by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from te_solver.tunnels.cost_graph import CostGraph, without_loops
from te_solver.tunnels.finder import Path
from te_solver.tunnels.path_choice import PairRoutes, PathChoice, PathQuestion, Routes

_Ways = Sequence[Sequence[tuple[int, int]]]
"""For every node its neighbours, each with the number of the way to it, or from it."""


def _routes(question: PathQuestion) -> PairRoutes:
    """Abuzaid et al., NSDI 2021 (section 6.1), take the paths of networkx, in its order.

    Which of several maximum flows is found depends on the order of nodes and links: they come as in the topology, and
    are searched as networkx does, so that a file of a peer leads to the peer's paths. A link counts by itself: paths
    may use both directions of a cable. Loops of a path are cut out. Paths are sorted by cost.
    """
    graph = CostGraph(question.topology, question.weight)
    links = [(graph.position[link.source], graph.position[link.target]) for link in question.topology.links]
    network = _UnitNetwork(len(graph.names), links)

    def of_pair(source: str, target: str, count: int) -> Routes:
        walks = network.disjoint_walks(graph.position[source], graph.position[target])
        kept = sorted(map(without_loops, walks), key=graph.length)[:count]
        return tuple((graph.named(path), 1 / len(kept)) for path in kept)

    return of_pair


class _UnitNetwork:
    """Maximum flows over links that carry one unit each, by Edmonds and Karp (JACM 19(2), 1972).

    Each augmenting path has the fewest links, found by breadth first from both ends at once.
    """

    def __init__(self, nodes: int, links: Iterable[tuple[int, int]]) -> None:
        self._nodes = nodes
        beside: list[dict[int, None]] = [{} for _ in range(nodes)]
        for tail, head in sorted(links, key=lambda link: link[0]):
            beside[tail][head] = beside[head][tail] = None
        self._from: _Ways = [[(other, node * nodes + other) for other in beside[node]] for node in range(nodes)]
        self._to: _Ways = [[(other, other * nodes + node) for other in beside[node]] for node in range(nodes)]
        self._missing = {way for ways in self._from for _, way in ways} - {tail * nodes + head for tail, head in links}

    def disjoint_walks(self, source: int, target: int) -> Iterator[Path]:
        """Yield the walks that a maximum flow consists of; a walk may visit a node twice."""
        sent: set[int] = set()
        full = set(self._missing)
        most = min(sum(way not in full for _, way in ways) for ways in (self._from[source], self._to[target]))
        for _ in range(most):
            path = self._augmenting(source, target, full)
            if not path:
                break
            for tail, head in pairwise(path):
                way, back = tail * self._nodes + head, head * self._nodes + tail
                full.discard(back)
                if back in sent:
                    sent.remove(back)
                    if way in self._missing:
                        full.add(way)
                else:
                    sent.add(way)
                    full.add(way)
        onward = {way // self._nodes: list[int]() for way in sent}
        for tail, heads in onward.items():
            heads.extend(head for head, way in self._from[tail] if way in sent)
        for second in onward.get(source, ()):
            walk = [source, second]
            while walk[-1] != target:
                walk.append(onward[walk[-1]].pop())
            yield tuple(walk)

    def _augmenting(self, source: int, target: int, full: set[int]) -> list[int]:
        """Return a path of the fewest ways that are not full, empty if there is none."""
        before, after = {source: source}, {target: target}
        first, last = [source], [target]
        met: int | None = None
        while met is None:
            if len(first) <= len(last):
                met, first = _further(first, self._from, before, after, full)
            else:
                met, last = _further(last, self._to, after, before, full)
            if not first or not last:
                return []
        path = [met]
        while path[-1] != source:
            path.append(before[path[-1]])
        path.reverse()
        while path[-1] != target:
            path.append(after[path[-1]])
        return path


def _further(
    border: Sequence[int], ways: _Ways, known: dict[int, int], wanted: dict[int, int], full: set[int]
) -> tuple[int | None, list[int]]:
    """Go one link on from all nodes of a border; return the first node that is wanted, if any, and the next border."""
    found: list[int] = []
    for node in border:
        for other, way in ways[node]:
            if other not in known and way not in full:
                known[other] = node
                found.append(other)
                if other in wanted:
                    return other, found
    return None, found


CHOICE = PathChoice("edge-disjoint-flow", _routes)
