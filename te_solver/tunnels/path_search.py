"""Search for sets of paths between two vertices: edge-disjoint at the least cost, then with the least sharing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

from te_solver.tunnels.arc_graph import ArcGraph, Step

Path = tuple[int, ...]
"""Arcs from the start to the end."""

NOWHERE = -1
"""Goal of a search that visits all vertices."""


@dataclass(frozen=True)
class PathSearch:
    """Search for paths from one vertex of a graph to a different one that can be reached.

    Attributes:
        to_end: for every vertex the cost to the end, `beyond` if there is no path.
        from_start: for every vertex the cost from the start, `beyond` if there is no path.
        beyond: a cost above that of any path without a loop.
    """

    graph: ArcGraph
    start: int
    end: int
    to_end: Sequence[int]
    from_start: Sequence[int]
    beyond: int

    def disjoint(self, at_most: int) -> list[Path]:
        """Return up to `at_most` paths without a common arc or opposite arc, as many as possible, of least total cost.

        A minimum-cost flow by successive shortest paths (Suurballe and Tarjan, Networks 14, 1984; for more than two
        paths: Bhandari, Survivable Networks, 1999). Costs are positive, so that the optimal flow never uses an arc
        and its opposite (dropping both would be cheaper) and has no cycle: its paths are disjoint and simple.
        """
        flow = set[int]()
        potential = self.to_end
        at_most = min(at_most, len(self.graph.leaving[self.start]), len(self.graph.entering[self.end]))
        before = self._cheapest()
        found = 0
        while self.end in before:
            found += 1
            vertex = self.end
            while vertex != self.start:
                arc = before[vertex]
                tail, head = self.graph.ends[arc]
                vertex = head if arc in flow else tail
                flow ^= {arc}
            if found == at_most:
                break
            cost, before = search(self._residual(flow), self.start, self.end, potential)
            if found + 1 < at_most and self.end in cost:
                potential = _raised(potential, cost, self.end)
        return self._cut_apart(flow)

    def _cheapest(self) -> dict[int, int]:
        """Return what `search` does of vertices on a cheapest path to the end: their costs to it are known already."""
        before: dict[int, int] = {}
        heap = [self.start]
        while self.end not in before:
            vertex = heappop(heap)
            here = self.to_end[vertex]
            for other, step, arc in self.graph.leaving[vertex]:
                if self.to_end[other] + step == here and other not in before:
                    before[other] = arc
                    heappush(heap, other)
        return before

    def least_sharing(self, chosen: Sequence[Path]) -> Path | None:
        """Return the path that shares the least with the chosen ones, of several the cheapest; None if there is none.

        An arc shared with two of the chosen counts twice. Ties go to the first path in node order.
        """
        penalty: dict[int, int] = {}
        for path in chosen:
            for arc in path:
                extra = penalty.get(arc, 0) + self.graph.size[arc] * self.beyond
                penalty[arc] = penalty[arc ^ 1] = extra
        first_steps = self.graph.leaving[self.start]
        unavoidable = min(penalty.get(arc, 0) for _, _, arc in first_steps)
        if unavoidable:
            for _, _, arc in first_steps:
                # Every path takes one of these; a lower cost at its goal makes the search visit fewer vertices.
                penalty[arc] -= unavoidable
        entering = {
            vertex: [(tail, cost + penalty.get(arc, 0), arc) for tail, cost, arc in self.graph.entering[vertex]]
            for vertex in {self.graph.ends[arc][1] for arc in penalty}
        }
        steps = _replaced(self.graph.entering, entering)
        cost, _ = search(steps, self.end, self.start, self.from_start, with_ties=True)
        path = self._downhill(self.start, cost, penalty)
        return path if path not in chosen else self._departing(chosen, penalty, entering)

    def _departing(
        self, chosen: Sequence[Path], penalty: Mapping[int, int], entering: Mapping[int, list[Step]]
    ) -> Path | None:
        """Return the result of `least_sharing` if the cheapest path with penalties is one of the chosen.

        Any other path follows a chosen one for a while and then departs from all that began alike: so the cheapest
        departing path is sought for each beginning, as in Yen's algorithm (Management Science 17, 1971).
        """
        graph = self.graph
        to_end, _ = search(_replaced(graph.entering, entering), self.end, NOWHERE, self.from_start)
        best: tuple[int, tuple[int, ...], Path] | None = None
        for at_least, so_far, begun in sorted(self._beginnings(chosen, penalty, to_end)):
            if best is not None and at_least > best[0]:
                break
            start = graph.ends[begun[-1]][1] if begun else self.start
            taken = {path[len(begun)] for path in chosen if path[: len(begun)] == begun}
            heads = {graph.ends[arc][1] for arc in taken}
            allowed = {vertex: [step for step in entering[vertex] if step[2] not in taken] for vertex in heads}
            cost, _ = search(
                _replaced(graph.entering, {**entering, **allowed}),
                self.end,
                start,
                self.from_start,
                with_ties=True,
                closed=[graph.ends[arc][0] for arc in begun],
            )
            if start in cost:
                path = begun + self._downhill(start, cost, penalty, barred=taken)
                nodes = tuple(node for arc in path for node in graph.nodes[arc])
                departing = so_far + cost[start], nodes, path
                best = min(best, departing) if best is not None else departing
        return best[2] if best is not None else None

    def _beginnings(
        self, chosen: Sequence[Path], penalty: Mapping[int, int], to_end: Mapping[int, int]
    ) -> set[tuple[int, int, Path]]:
        """Return all beginnings of chosen paths as (lower bound of the cost of a departing path, own cost, arcs)."""
        beginnings = set[tuple[int, int, Path]]()
        for path in chosen:
            so_far, passed = 0, set[int]()
            for position, arc in enumerate(path):
                begun = path[:position]
                vertex = self.graph.ends[arc][0]
                passed.add(vertex)
                taken = {other[position] for other in chosen if other[:position] == begun}
                rests = [
                    cost + penalty.get(step, 0) + to_end[head]
                    for head, cost, step in self.graph.leaving[vertex]
                    if step not in taken and head not in passed and head in to_end
                ]
                if rests:
                    beginnings.add((so_far + min(rests), so_far, begun))
                so_far += self.graph.cost[arc] + penalty.get(arc, 0)
        return beginnings

    def _residual(self, flow: Collection[int]) -> Sequence[list[Step]]:
        """Return all steps beside a flow: those that it leaves, or back along it, which refunds the cost."""
        used = {*flow, *(arc ^ 1 for arc in flow)}
        vertices = {vertex for arc in flow for vertex in self.graph.ends[arc]}
        steps = self.graph.leaving.copy()
        for vertex in vertices:
            steps[vertex] = [step for step in steps[vertex] if step[2] not in used]
        for arc in flow:
            tail, head = self.graph.ends[arc]
            steps[head].append((tail, -self.graph.cost[arc], arc))
        return steps

    def _traced(self, flow: Collection[int]) -> list[Path]:
        """Return the paths of a flow if they meet nowhere, so that there is one way to separate them, else none."""
        leaving: dict[int, int] = {}
        paths = []
        for arc in flow:
            tail = self.graph.ends[arc][0]
            if tail == self.start:
                paths.append([arc])
            elif leaving.setdefault(tail, arc) != arc:
                return []
        for path in paths:
            while (vertex := self.graph.ends[path[-1]][1]) != self.end:
                path.append(leaving[vertex])
        return [tuple(path) for path in paths]

    def _cut_apart(self, flow: set[int]) -> list[Path]:
        """Return the paths of a flow; if they can be separated in several ways, the shortest is taken first."""
        paths: list[Path] = []
        while not (apart := self._traced(flow)):
            entering: dict[int, list[Step]] = defaultdict(list)
            for arc in flow:
                tail, head = self.graph.ends[arc]
                entering[head].append((tail, self.graph.cost[arc], arc))
            cost, _ = search(entering, self.end, self.start, self.from_start, with_ties=True)
            path = self._downhill(self.start, cost, {}, among=flow)
            flow.difference_update(path)
            paths.append(path)
        return [*paths, *apart]

    def _downhill(
        self,
        start: int,
        cost_to_end: Mapping[int, int],
        penalty: Mapping[int, int],
        *,
        among: Collection[int] | None = None,
        barred: Collection[int] = (),
    ) -> Path:
        """Return the path on which the cost falls by that of each step; of several the first in node order."""
        path = []
        vertex = start
        while vertex != self.end:
            here = cost_to_end[vertex]
            for head, cost, arc in self.graph.leaving[vertex]:
                if (
                    head in cost_to_end
                    and cost_to_end[head] + cost + penalty.get(arc, 0) == here
                    and (among is None or arc in among)
                    and arc not in barred
                ):
                    vertex = head
                    path.append(arc)
                    break
            else:
                raise AssertionError("the costs are not those of a cheapest path")
        return tuple(path)


def _replaced(steps: list[list[Step]], changed: Mapping[int, list[Step]]) -> list[list[Step]]:
    """Return the steps of all vertices, in which those of some are replaced."""
    replaced = steps.copy()
    for vertex, own in changed.items():
        replaced[vertex] = own
    return replaced


def search(
    steps: Mapping[int, list[Step]] | Sequence[list[Step]],
    origin: int,
    goal: int,
    potential: Sequence[int],
    *,
    with_ties: bool = False,
    closed: Collection[int] = (),
) -> tuple[dict[int, int], dict[int, int]]:
    """Run A*, Dijkstra's algorithm directed by a potential, from `origin` until `goal` is reached.

    Args:
        steps: steps to other vertices, for every vertex.
        origin: the vertex to start from.
        goal: the vertex to reach.
        potential: for every vertex a lower bound of the cost to the goal; along a step it falls by no more than the
            step's cost (Hart, Nilsson and Raphael, IEEE Transactions on Systems Science and Cybernetics 4, 1968).
        with_ties: continue until all vertices on cheapest paths to the goal are reached.
        closed: vertices to avoid.

    Returns:
        The cost from the origin for each vertex as far as the search went, and the arc by which each was reached.
    """
    cost: dict[int, int] = {}
    nearest: list[float] = [inf] * len(potential)
    for vertex in closed:
        nearest[vertex] = -inf
    before: dict[int, int] = {}
    heap = [(potential[origin], origin, 0)]
    enough = inf
    while heap:
        estimate, vertex, so_far = heappop(heap)
        if vertex in cost:
            continue
        if estimate > enough:
            break
        cost[vertex] = so_far
        if vertex == goal:
            if with_ties:
                enough = estimate
                continue
            break
        for other, step, arc in steps[vertex]:
            far = so_far + step
            if far < nearest[other]:  # which no way back to a vertex of known cost does
                nearest[other] = far
                before[other] = arc
                heappush(heap, (far + potential[other], other, far))
    return cost, before


def _raised(potential: Sequence[int], cost: Mapping[int, int], goal: int) -> Sequence[int]:
    """Return a potential that falls by no more than the cost of any step of the next residual network."""
    farthest = cost[goal] + potential[goal]
    raised = list(potential)
    for vertex, so_far in cost.items():
        raised[vertex] = max(raised[vertex], farthest - so_far)
    return raised
