"""Oblivious routing by random hierarchical decompositions: the paths of SMORE.

Räcke (STOC 2008) reduces congestion-oblivious routing to trees that embed distances, made as by Fakcharoenphol, Rao and
Talwar (STOC 2003); Kumar et al. (SMORE, NSDI 2018) take the paths of these trees as tunnels.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from kuijia_base.errors import UnsoundError
from te_solver.tunnels.cost_graph import CostGraph, without_loops
from te_solver.tunnels.finder import Path
from te_solver.tunnels.path_choice import PairRoutes, PathChoice, PathQuestion, Routes

_NOBODY = -9999
"""Predecessor of a node without one, in SciPy's answers."""


@dataclass(frozen=True)
class _Metric:
    """Distances between all nodes, shape (N, N), and the node before each on the way from each."""

    distance: NDArray[np.float64]
    before: NDArray[np.int32]

    def path(self, start: int, end: int) -> Path:
        path = [end]
        while path[-1] != start:
            path.append(int(self.before[start, path[-1]]))
        return tuple(reversed(path))


@dataclass(frozen=True)
class _Tree:
    """A decomposition: for each node the centres of its clusters, from itself up to the root, shape (levels, N).

    Attributes:
        clusters: a number of the cluster of each node at each level; equal numbers are one cluster.
        centres: the node that stands for the cluster of each node at each level.
        metric: the distances that it embeds.
        share: of the traffic that is routed by this tree.
    """

    clusters: NDArray[np.int64]
    centres: NDArray[np.int64]
    metric: _Metric
    share: float

    def path(self, source: int, target: int) -> Path:
        """Return the way up to the first common cluster and down again, without loops."""
        meeting = int(np.argmax(self.clusters[:, source] == self.clusters[:, target]))
        up = self.centres[: meeting + 1, source].tolist()
        down = self.centres[:meeting, target].tolist()[::-1]
        path: tuple[int, ...] = (source,)
        for start, end in pairwise([*up, *down]):
            path += self.metric.path(start, end)[1:]
        return without_loops(path)


def decompositions(capacity: NDArray[np.float64], edges: NDArray[np.int64], nodes: int, seed: int) -> list[_Tree]:
    """Return trees whose shares sum to one, such that no edge carries much more in them than in the best routing.

    Multiplicative weights (Räcke 2008, section 3): an edge is the longer, the more the trees so far load it; a tree's
    share is what adds one to the load of its busiest edge.

    Args:
        capacity: of each edge, shape (E,).
        edges: its ends, shape (E, 2).
        nodes: number of nodes, all connected.
        seed: of the random trees.
    """
    draw = np.random.default_rng(seed)
    loaded = np.zeros(len(edges))
    trees: list[_Tree] = []
    left = 1.0
    while left > 0:
        length = np.exp(loaded - loaded.max()) / capacity
        tree = _drawn(length / length.min(), edges, nodes, draw)
        relative = _load(tree, capacity, edges) / capacity
        share = min(1 / relative.max(), left)
        loaded += share * relative
        left = left - share if share < left else 0.0
        trees.append(_Tree(tree.clusters, tree.centres, tree.metric, share))
    return trees


def _drawn(length: NDArray[np.float64], edges: NDArray[np.int64], nodes: int, draw: np.random.Generator) -> _Tree:
    """Return a random tree: balls of halved radius about nodes in a random order divide clusters level by level."""
    matrix = sp.csr_array((length, (edges[:, 0], edges[:, 1])), shape=(nodes, nodes))
    distance, before = dijkstra(matrix, directed=False, return_predecessors=True)
    order = draw.permutation(nodes)
    scale = 2.0 ** draw.random()
    radius = scale * 2.0 ** np.ceil(np.log2(distance.max()))
    clusters, centres = [np.zeros(nodes, dtype=np.int64)], [np.full(nodes, order[0])]
    while np.unique(clusters[-1]).size < nodes:
        radius /= 2
        # The first node of the order whose ball holds each node.
        centre = order[np.argmax(distance[order] <= radius, axis=0)]
        _, inside = np.unique(clusters[-1] * nodes + centre, return_inverse=True)
        clusters.append(inside.reshape(-1))
        centres.append(centre)
    # In the last level each cluster is one node, which stands for itself.
    centres[-1] = np.arange(nodes)
    return _Tree(np.array(clusters[::-1]), np.array(centres[::-1]), _Metric(distance, before), 0.0)


def _load(tree: _Tree, capacity: NDArray[np.float64], edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what each edge carries if each link of the tree is as full as the edges that it stands for."""
    number = {ends: at for at, (a, b) in enumerate(edges.tolist()) for ends in ((a, b), (b, a))}
    load = np.zeros(len(edges))
    for level in range(len(tree.clusters) - 1):
        inside = tree.clusters[level]
        ends = inside[edges]
        crossing = ends[:, 0] != ends[:, 1]
        leaving = np.bincount(ends[crossing].reshape(-1), np.repeat(capacity[crossing], 2), minlength=inside.max() + 1)
        _, first = np.unique(inside, return_index=True)
        for node in first.tolist():
            way = tree.metric.path(int(tree.centres[level, node]), int(tree.centres[level + 1, node]))
            for hop in pairwise(way):
                load[number[hop]] += leaving[inside[node]]
    return load


def _routes(question: PathQuestion) -> PairRoutes:
    topology = question.topology
    graph = CostGraph(topology, question.weight)
    if any((head, tail) not in graph.cost for tail, head in graph.cost):
        raise UnsoundError(("paths",), "raeke divides cables, and a link has no opposite", "links in both directions")
    edges = np.array([(graph.position[a], graph.position[b]) for a, b in topology.edges], dtype=np.int64)
    capacity = np.array([min(topology.link(a, b).capacity, topology.link(b, a).capacity) for a, b in topology.edges])
    parts = _parts(edges, len(graph.names))
    trees: dict[int, tuple[NDArray[np.int64], list[_Tree]]] = {}

    def of_pair(source: str, target: str, count: int) -> Routes:
        start, end = graph.position[source], graph.position[target]
        part = int(parts[start])
        if part != parts[end]:
            return ()
        if part not in trees:
            own = np.flatnonzero(parts == part)
            place = np.full(len(graph.names), -1)
            place[own] = np.arange(own.size)
            kept = parts[edges[:, 0]] == part
            trees[part] = own, decompositions(capacity[kept], place[edges[kept]], own.size, question.seed)
        own, of_part = trees[part]
        inside = {int(node): at for at, node in enumerate(own)}
        over: dict[Path, float] = defaultdict(float)
        for tree in of_part:
            path = tree.path(inside[start], inside[end])
            over[tuple(int(own[node]) for node in path)] += tree.share
        kept_paths = sorted(over.items(), key=lambda each: (-each[1], graph.length(each[0]), each[0]))[:count]
        return tuple((graph.named(path), share) for path, share in kept_paths)

    return of_pair


def _parts(edges: NDArray[np.int64], nodes: int) -> NDArray[np.int32]:
    """Return a number for each node that all nodes connected with it have."""
    matrix = sp.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(nodes, nodes))
    _, part = sp.csgraph.connected_components(matrix, directed=False)
    return np.asarray(part)


CHOICE = PathChoice("raeke", _routes)
