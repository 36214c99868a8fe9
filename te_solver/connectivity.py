"""What in a network is connected to what: parts, reachable nodes, distances and edge-disjoint paths."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

from te_solver.topology import Topology

Arc = tuple[int, int]


def connected_parts(topology: Topology) -> list[tuple[str, ...]]:
    """The nodes in groups that edges connect, whatever their direction, in the order of the topology."""
    parts: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for start in topology.nodes:
        if start in seen:
            continue
        seen.add(start)
        part = [start]
        for node in part:
            for neighbour in topology.neighbours[node]:
                if neighbour not in seen:
                    seen.add(neighbour)
                    part.append(neighbour)
        parts.append(tuple(part))
    return parts


class Reachability:
    """Which nodes of a topology can be reached from which along the direction of links."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._from: dict[str, frozenset[str]] = {}

    def connects(self, source: str, target: str) -> bool:
        """Whether there is a path; raises KeyError for an unknown source."""
        return target in self._reachable(source)

    @cached_property
    def _both_ways(self) -> bool:
        return all(self._topology.has_link(link.target, link.source) for link in self._topology.links)

    def _reachable(self, source: str) -> frozenset[str]:
        if source not in self._from:
            reached = dict.fromkeys([source])
            queue = deque([source])
            while queue:
                node = queue.popleft()
                for neighbour in self._topology.neighbours[node]:
                    if neighbour not in reached and self._topology.has_link(node, neighbour):
                        reached[neighbour] = None
                        queue.append(neighbour)
            nodes = frozenset(reached)
            # Where every link has its reverse, all nodes that are reached reach the same ones.
            self._from.update(dict.fromkeys(nodes if self._both_ways else [source], nodes))
        return self._from[source]


@dataclass(frozen=True)
class DisjointPaths:
    """How many pairs of nodes have how many edge-disjoint paths between them.

    `pairs` is by the number of paths; it counts unordered pairs when every link has its reverse, else ordered ones.
    When `exact` is false it counts a sample.
    """

    pairs: dict[int, int]
    ordered: bool
    exact: bool

    @property
    def edge_connectivity(self) -> int | None:
        """The fewest links whose loss separates some pair, None when that was not computed."""
        return min(self.pairs) if self.exact else None


class DisjointPathCounter:
    """Counts edge-disjoint paths in one topology; a cable counts once, in whichever direction it is used."""

    def __init__(self, topology: Topology) -> None:
        position = {node: number for number, node in enumerate(topology.nodes)}
        self._neighbours = [[position[other] for other in topology.neighbours[node]] for node in topology.nodes]
        self._links = {(position[link.source], position[link.target]) for link in topology.links}
        self._both_ways = all((head, tail) in self._links for tail, head in self._links)

    def of_all_pairs(self, effort: int = 20_000_000, sample: int = 500) -> DisjointPaths:
        """Over all pairs, or over `sample` random ones when it would take more than `effort` steps over links."""
        nodes = len(self._neighbours)
        arcs = sum(map(len, self._neighbours))
        if self._both_ways and (arcs + nodes) * max(arcs, nodes) <= effort:
            return DisjointPaths(self._by_cut_tree(), ordered=False, exact=True)
        pairs = nodes * (nodes - 1)
        exact = pairs * arcs * 2 <= effort
        chosen = permutations(range(nodes), 2) if exact else _random_pairs(nodes, min(sample, effort // arcs + 1))
        counts = Counter(self._separate(source, target)[0] for source, target in chosen)
        return DisjointPaths(dict(sorted(counts.items())), ordered=True, exact=exact)

    def _by_cut_tree(self) -> dict[int, int]:
        """Every pair's minimum cut is the least edge between them in a tree of n - 1 cuts.

        Gusfield, Very simple methods for all pairs network flow analysis, SIAM Journal on Computing 19, 1990.
        """
        nodes = len(self._neighbours)
        parent = [0] * nodes
        cut = [0] * nodes
        for node in range(1, nodes):
            paths, side = self._separate(node, parent[node])
            cut[node] = paths
            for other in range(node + 1, nodes):
                if other in side and parent[other] == parent[node]:
                    parent[other] = node
        return _pairs_by_least_edge(parent, cut)

    def _separate(self, source: int, target: int) -> tuple[int, set[int]]:
        """The number of edge-disjoint paths and the nodes on the side of `source` of a minimum cut (Menger)."""
        flow: set[Arc] = set()
        paths = 0
        while True:
            before = self._search(source, target, flow)
            if target not in before:
                return paths, set(before)
            head = target
            while head != source:
                tail = before[head]
                if (head, tail) in flow:
                    flow.remove((head, tail))
                else:
                    flow.add((tail, head))
                head = tail
            paths += 1

    def _search(self, source: int, target: int, flow: set[Arc]) -> dict[int, int]:
        """The nodes reached in the residual network, each with the one before it, until `target` is found."""
        before = {source: source}
        queue = deque([source])
        while queue:
            tail = queue.popleft()
            for head in self._neighbours[tail]:
                if head in before:
                    continue
                arc = (tail, head)
                if (head, tail) in flow or (arc in self._links and arc not in flow):
                    before[head] = tail
                    if head == target:
                        return before
                    queue.append(head)
        return before


def _pairs_by_least_edge(parent: list[int], weight: list[int]) -> dict[int, int]:
    """For each weight how many pairs of nodes have it as the least on their way in the tree; node 0 is the root.

    Joining the heaviest edges first: an edge is the least of exactly the pairs that it joins.
    """
    group = list(range(len(parent)))
    size = [1] * len(parent)
    pairs: Counter[int] = Counter()

    def root(node: int) -> int:
        while group[node] != node:
            group[node] = group[group[node]]
            node = group[node]
        return node

    for node in sorted(range(1, len(parent)), key=lambda each: -weight[each]):
        a, b = root(node), root(parent[node])
        pairs[weight[node]] += size[a] * size[b]
        group[a] = b
        size[b] += size[a]
    return dict(sorted(pairs.items()))


def _random_pairs(nodes: int, count: int) -> Iterable[Arc]:
    choice = random.Random(1)
    for _ in range(count):
        source, target = choice.sample(range(nodes), 2)
        yield source, target


def hop_diameter(topology: Topology, most_steps: int = 20_000_000) -> int | None:
    """The most links on a shortest path between two nodes that are connected; None when it takes too many steps."""
    if len(topology.nodes) * len(topology.links) > most_steps:
        return None
    position = {node: number for number, node in enumerate(topology.nodes)}
    heads: list[list[int]] = [[] for _ in topology.nodes]
    for link in topology.links:
        heads[position[link.source]].append(position[link.target])
    return max(_eccentricity(heads, start) for start in range(len(heads)))


def _eccentricity(heads: list[list[int]], start: int) -> int:
    hops = {start: 0}
    queue = deque([start])
    node = start
    while queue:
        node = queue.popleft()
        for head in heads[node]:
            if head not in hops:
                hops[head] = hops[node] + 1
                queue.append(head)
    return hops[node]
