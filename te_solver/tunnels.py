"""Chooses the tunnels of a pair: edge-disjoint while the network allows it, then sharing as little as it allows."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping
from heapq import heappop, heappush
from itertools import pairwise

from te_solver.topology import Topology

Path = tuple[int, ...]
"""Nodes as positions in the topology's order, from source to target."""

Arc = tuple[int, int]


def tunnels_for(topology: Topology, source: str, target: str, count: int) -> tuple[tuple[str, ...], ...]:
    """`count` tunnels from `source` to `target`; see `TunnelFinder.tunnels`, which serves many pairs of one network."""
    return TunnelFinder(topology).tunnels(source, target, count)


class TunnelFinder:
    """Finds tunnels in one topology.

    An edge is a cable: both its directions count as the same. Ties are broken by the topology's order of nodes, so
    that the same topology gives the same tunnels.
    """

    def __init__(self, topology: Topology) -> None:
        self._names = topology.nodes
        self._position = {node: position for position, node in enumerate(topology.nodes)}
        self._neighbours = [[self._position[other] for other in topology.neighbours[node]] for node in topology.nodes]
        self._links = {(self._position[link.source], self._position[link.target]) for link in topology.links}

    def tunnels(self, source: str, target: str, count: int) -> tuple[tuple[str, ...], ...]:
        """Up to `count` different simple paths, as node names, sorted by hops and then by node order.

        The first of them, as many as can be edge-disjoint, have the least total number of hops of all such sets
        (Suurballe and Tarjan, Networks 14, 1984; for more than two paths: Bhandari, Survivable Networks, 1999). Each
        further one is, among the paths left, the one with the fewest edges in common with those before it (an edge
        in common with two of them counts twice), of these the shortest. Fewer than `count` come back only when the
        pair has no more simple paths, none when it is not connected.

        Raises:
            ValueError: `count` below one, or source and target are the same.
            KeyError: unknown source or target.
        """
        paths = self._disjoint(source, target, count)
        while 0 < len(paths) < count:
            further = self._least_sharing(paths)
            if further is None:
                break
            paths.append(further)
        paths.sort(key=lambda path: (len(path), path))
        return tuple(tuple(self._names[node] for node in path) for path in paths)

    def count_disjoint(self, source: str, target: str, at_most: int) -> int:
        """How many paths from `source` to `target` can be edge-disjoint, counted up to `at_most`."""
        return len(self._disjoint(source, target, at_most))

    def _disjoint(self, source: str, target: str, count: int) -> list[Path]:
        """Edge-disjoint paths of least total hops: a min-cost flow by successive shortest paths.

        Every arc costs one, so that the optimal flow never uses an edge in both directions (dropping both would be
        cheaper) and has no cycle: its paths are edge-disjoint and simple.
        """
        if count < 1:
            raise ValueError(f"{count} tunnels asked for, at least one is needed")
        if source == target:
            raise ValueError(f"a tunnel from {source} to itself")
        start, end = self._position[source], self._position[target]
        flow: set[Arc] = set()
        found = 0
        while found < count and (path := self._augmenting_path(start, end, flow)):
            for tail, head in pairwise(path):
                if (head, tail) in flow:
                    flow.remove((head, tail))
                else:
                    flow.add((tail, head))
            found += 1
        paths = []
        for _ in range(found):
            # Paths that meet at a node can be cut apart in several ways; take the shortest one out first.
            path = self._cheapest(start, end, flow)
            assert path is not None, "a flow of n units consists of n paths"
            flow.difference_update(pairwise(path))
            paths.append(path)
        return paths

    def _augmenting_path(self, start: int, end: int, flow: Collection[Arc]) -> Path | None:
        """The cheapest path in the residual network, where undoing flow on an arc earns what the arc cost.

        Bellman and Ford's algorithm with a queue: costs are negative, but no cycle's are, as `flow` is optimal.
        """
        cost = {start: 0}
        before: dict[int, int] = {}
        queue, waiting = deque([start]), {start}
        while queue:
            tail = queue.popleft()
            waiting.remove(tail)
            for head in self._neighbours[tail]:
                if (head, tail) in flow:
                    step = -1
                elif (tail, head) in self._links and (tail, head) not in flow:
                    step = 1
                else:
                    continue
                if head not in cost or cost[tail] + step < cost[head]:
                    cost[head] = cost[tail] + step
                    before[head] = tail
                    if head not in waiting:
                        queue.append(head)
                        waiting.add(head)
        if end not in cost:
            return None
        path = [end]
        while path[-1] != start:
            path.append(before[path[-1]])
        return tuple(reversed(path))

    def _least_sharing(self, chosen: list[Path]) -> Path | None:
        """The simple path, other than those chosen, that has the least in common with them.

        Any other path follows some chosen one for a while and then leaves all that began alike: so the cheapest one
        that leaves is sought for each beginning, as in Yen's algorithm (Management Science 17, 1971).
        """
        uses = Counter(frozenset(hop) for path in chosen for hop in pairwise(path))
        # One edge in common weighs more than the hops of the longest simple path.
        penalty = {edge: count * len(self._names) for edge, count in uses.items()}
        end = chosen[0][-1]
        best: tuple[int, Path] | None = None
        for beginning in sorted({path[:length] for path in chosen for length in range(1, len(path))}):
            *passed, start = beginning
            taken = {(start, path[len(beginning)]) for path in chosen if path[: len(beginning)] == beginning}
            rest = self._cheapest(start, end, self._links, barred_nodes=passed, barred_arcs=taken, penalty=penalty)
            if rest is not None:
                path = (*passed, *rest)
                cost = sum(1 + penalty.get(frozenset(hop), 0) for hop in pairwise(path))
                best = min(best, (cost, path)) if best else (cost, path)
        return best[1] if best else None

    def _cheapest(
        self,
        start: int,
        end: int,
        arcs: Collection[Arc],
        barred_nodes: Iterable[int] = (),
        barred_arcs: Collection[Arc] = (),
        penalty: Mapping[frozenset[int], int] | None = None,
    ) -> Path | None:
        """The path over `arcs` with the fewest hops plus penalties, of these the first in node order.

        Dijkstra's algorithm from the end; walking the costs down from the start then settles the ties.
        """
        extra = penalty or {}
        cost: dict[int, int] = {}
        closed = set(barred_nodes)
        heap = [(0, end)]
        while heap:
            so_far, head = heappop(heap)
            if head in closed:
                continue
            closed.add(head)
            cost[head] = so_far
            if head == start:
                break
            for tail in self._neighbours[head]:
                if tail not in closed and (tail, head) in arcs and (tail, head) not in barred_arcs:
                    heappush(heap, (so_far + 1 + extra.get(frozenset((tail, head)), 0), tail))
        if start not in cost:
            return None
        path = [start]
        while path[-1] != end:
            tail = path[-1]
            path.append(
                next(
                    head
                    for head in self._neighbours[tail]
                    if (tail, head) in arcs
                    and (tail, head) not in barred_arcs
                    and head in cost
                    and cost[tail] == cost[head] + 1 + extra.get(frozenset((tail, head)), 0)
                )
            )
        return tuple(path)
