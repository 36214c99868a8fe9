"""Summary of a topology, as plain data."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from te_solver.model.connectivity import connected_parts
from te_solver.model.topology import Topology

_EXACT_STEPS = 12_000_000
"""Steps over links after which counting all pairs gives way to a sample."""

_SAMPLE_STEPS = 3_500_000
"""Links of all searches for a sample together: about half a second."""


@dataclass(frozen=True)
class DisjointPaths:
    """Number of pairs of nodes by their number of edge-disjoint paths.

    `pairs` is keyed by the number of paths; it counts ordered pairs if `ordered`, else unordered ones. If `exact` is
    False it counts a sample.
    """

    pairs: dict[int, int]
    ordered: bool
    exact: bool

    @property
    def edge_connectivity(self) -> int | None:
        """Fewest edges whose loss separates some pair; None if `pairs` is only a sample."""
        return min(self.pairs) if self.exact else None


class DisjointPathCounter:
    """Counter of edge-disjoint paths in one topology; a cable counts once, in either direction."""

    def __init__(self, topology: Topology) -> None:
        position = {node: number for number, node in enumerate(topology.nodes)}
        self._nodes = len(position)
        self._ends = 2 * len(topology.edges)
        self._both_ways = all(topology.has_link(link.target, link.source) for link in topology.links)
        tails = [position[link.source] for link in topology.links]
        heads = [position[link.target] for link in topology.links]
        ones = np.ones(len(tails), dtype=np.int32)
        self._links = sp.csr_array((ones, (tails, heads)), shape=(self._nodes, self._nodes))

    def of_all_pairs(self, effort: int = _EXACT_STEPS, sample: int = 500) -> DisjointPaths:
        """Count over all pairs, or over at most `sample` random ones if that took more than `effort` steps over links.

        The sample of a very large network is smaller, so that it ends in about half a second.
        """
        nodes, ends = self._nodes, self._ends
        if self._both_ways and (ends + nodes) * max(ends, nodes) <= effort:
            return DisjointPaths(self._by_cut_tree(), ordered=False, exact=True)
        exact = nodes * (nodes - 1) * ends * 2 <= effort
        size = min(sample, _SAMPLE_STEPS // ends + 1)
        chosen = permutations(range(nodes), 2) if exact else _random_pairs(nodes, size)
        counts = Counter(int(self._flow(*pair).flow_value) for pair in chosen)
        return DisjointPaths(dict(sorted(counts.items())), ordered=True, exact=exact)

    def _by_cut_tree(self) -> dict[int, int]:
        """Count by a tree of n - 1 cuts: every pair's minimum cut is the least edge between them in the tree.

        Gusfield, Very simple methods for all pairs network flow analysis, SIAM Journal on Computing 19, 1990.
        """
        parent = [0] * self._nodes
        cut = [0] * self._nodes
        for node in range(1, self._nodes):
            flow = self._flow(node, parent[node])
            cut[node] = int(flow.flow_value)
            for other in self._side(node, flow.flow):
                if other > node and parent[other] == parent[node]:
                    parent[other] = node
        return _pairs_by_least_edge(parent, cut)

    def _flow(self, source: int, target: int) -> Any:  # noqa: ANN401  # scipy names no type
        """Return a maximum flow: as each link carries one path at most, its value is their number (Menger)."""
        return maximum_flow(self._links, source, target)

    def _side(self, source: int, flow: sp.csr_array) -> list[int]:
        """Return the nodes on the source's side of a minimum cut: those that the flow leaves a way to."""
        left = self._links - flow
        left.eliminate_zeros()
        reached: list[int] = breadth_first_order(left, source, return_predecessors=False).tolist()
        return reached


def _pairs_by_least_edge(parent: list[int], weight: list[int]) -> dict[int, int]:
    """Return for each weight the number of node pairs whose path in the tree has it as its least; node 0 is the root.

    The heaviest edges are joined first: an edge is the least of exactly the pairs that it joins.
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


def _random_pairs(nodes: int, count: int) -> Iterable[tuple[int, int]]:
    choice = random.Random(1)
    for _ in range(count):
        source, target = choice.sample(range(nodes), 2)
        yield source, target


def hop_diameter(topology: Topology, most_steps: int = 20_000_000) -> int | None:
    """Return the most links on a shortest path between connected nodes; None if that takes too many steps."""
    if len(topology.nodes) * len(topology.links) > most_steps:
        return None
    position = {node: number for number, node in enumerate(topology.nodes)}
    tails = [position[link.source] for link in topology.links]
    heads = [position[link.target] for link in topology.links]
    size = len(topology.nodes)
    links = sp.csr_array((np.ones(len(tails)), (tails, heads)), shape=(size, size))
    return max(_eccentricity(links, start) for start in range(size))


def _eccentricity(links: sp.csr_array, start: int) -> int:
    """Return the links on the way to the node that a breadth-first search reaches last."""
    order, predecessors = breadth_first_order(links, start)
    before: list[int] = predecessors.tolist()
    hops, node = 0, int(order[-1])
    while node != start:
        node = before[node]
        hops += 1
    return hops


@dataclass(frozen=True)
class TopologySummary:
    """Counts and figures of a topology.

    An edge is two nodes with a link in either direction; a link is one direction of it. `capacities` maps each capacity
    in Mbit/s to its number of links, the largest first; degrees are in edges; `delays` holds the least, median and
    greatest delay in seconds, None if no link has a delay; `diameter` is in links, None if computing it takes too long;
    `parts` holds the number of nodes of each connected part, the largest first.
    """

    name: str
    nodes: int
    edges: int
    links: int
    one_way_links: int
    capacities: dict[float, int]
    total_capacity: float
    delays: tuple[float, float, float] | None
    least_degree: int
    mean_degree: float
    greatest_degree: int
    parts: list[int]
    diameter: int | None
    disjoint_paths: DisjointPaths


def summarise(topology: Topology) -> TopologySummary:
    capacities = Counter(link.capacity for link in topology.links)
    delays = [link.delay for link in topology.links]
    degrees = [len(neighbours) for neighbours in topology.neighbours.values()]
    return TopologySummary(
        name=topology.name,
        nodes=len(topology.nodes),
        edges=len(topology.edges),
        links=len(topology.links),
        one_way_links=sum(not topology.has_link(link.target, link.source) for link in topology.links),
        capacities=dict(sorted(capacities.items(), reverse=True)),
        total_capacity=sum(link.capacity for link in topology.links),
        delays=(min(delays), median(delays), max(delays)) if any(delays) else None,
        least_degree=min(degrees),
        mean_degree=sum(degrees) / len(degrees),
        greatest_degree=max(degrees),
        parts=sorted(map(len, connected_parts(topology)), reverse=True),
        diameter=hop_diameter(topology),
        disjoint_paths=DisjointPathCounter(topology).of_all_pairs(),
    )
