"""The tunnels of very many pairs: found by all processors, kept in a few arrays, returned as node names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kuijia_base.parallel import Progress, in_processes, processors
from te_solver.model.plan import Weight
from te_solver.model.topology import Topology
from te_solver.programs.highs import Indices
from te_solver.programs.tunnel_links import TunnelLinks, ends, parts, ranges
from te_solver.tunnels.finder import Paths, TunnelFinder

Nodes = NDArray[np.unsignedinteger]
_PAIRS_PER_TASK = 2000
"""Pairs in a task, some seconds of work."""


@dataclass(frozen=True)
class TunnelTable:
    """T tunnels of P pairs.

    Attributes:
        names: names of the nodes, in the topology's order.
        nodes: the nodes of the first tunnel by their positions in `names`, then of the second, and so on.
        starts: where each tunnel starts in `nodes`, and where the last one ends, shape (T + 1,).
        pair_starts: the first tunnel of each pair, and T, shape (P + 1,).
    """

    names: tuple[str, ...]
    nodes: Nodes
    starts: Indices
    pair_starts: Indices

    def __len__(self) -> int:
        return self.pair_starts.size - 1

    def __iter__(self) -> Iterator[Paths]:
        """Yield the tunnels of each pair, as `TunnelFinder.tunnels` returns them."""
        return map(self.tunnels, range(len(self)))

    def tunnels(self, pair: int) -> Paths:
        """Return the tunnels of the pair at this position, as `TunnelFinder.tunnels` returns them."""
        starts = self.starts[self.pair_starts[pair] : self.pair_starts[pair + 1] + 1].tolist()
        name = self.names.__getitem__
        return tuple(tuple(map(name, self.nodes[start:end].tolist())) for start, end in pairwise(starts))

    def links(self, topology: Topology) -> TunnelLinks:
        """Return the links of the tunnels by their positions in `topology.links`."""
        width = len(self.names)
        position = {name: number for number, name in enumerate(self.names)}
        link_between = np.full(width * width, -1, dtype=np.int32)
        for number, link in enumerate(topology.links):
            link_between[position[link.source] * width + position[link.target]] = number
        hops = np.diff(self.starts) - 1
        links = np.empty(hops.sum(), dtype=np.int32)
        starts = ends(hops)
        for first, last in parts(hops.size):
            nodes = self.nodes[self.starts[first] : self.starts[last]].astype(np.int64)
            inside = np.ones(nodes.size - 1, dtype=np.bool_)
            inside[self.starts[first + 1 : last] - self.starts[first] - 1] = False
            links[starts[first] : starts[last]] = link_between[nodes[:-1] * width + nodes[1:]][inside]
        return TunnelLinks(links, starts, self.pair_starts)


@dataclass(frozen=True)
class ParallelFinder:
    """Finder of the tunnels of many pairs on all processors; see `find_tunnels`."""

    finder: TunnelFinder
    progress: Progress | None = None

    @property
    def choice(self) -> str:
        return self.finder.choice

    @property
    def weight(self) -> Weight:
        return self.finder.weight

    @property
    def node_disjoint(self) -> bool:
        return self.finder.node_disjoint

    @property
    def seed(self) -> int:
        return self.finder.seed

    def tunnels_of_pairs(self, pairs: Sequence[tuple[str, str]], count: int) -> TunnelTable:
        """Return the tunnels of each pair, as `TunnelFinder.tunnels` returns them."""
        return find_tunnels(self.finder, pairs, count, progress=self.progress)

    def shares(self, pair: tuple[str, str]) -> None:
        return self.finder.shares(pair)


def find_tunnels(
    finder: TunnelFinder,
    pairs: Sequence[tuple[str, str]],
    count: int,
    *,
    disjoint_only: bool = False,
    processes: int | None = None,
    progress: Progress | None = None,
) -> TunnelTable:
    """Find the tunnels of all pairs.

    Args:
        finder: finds the tunnels of a pair.
        pairs: source and target of each pair.
        count: number of tunnels of each pair.
        disjoint_only: True to omit tunnels that share edges.
        processes: number of processes, by default one for each processor; see `kuijia_base.parallel.in_processes`.
        progress: called with the number of finished pairs.

    Raises:
        ValueError: `count` is below one, or a pair has equal ends.
        KeyError: a node is unknown.
    """
    position = {name: number for number, name in enumerate(finder.names)}
    asked = np.array([(position[source], position[target]) for source, target in pairs], dtype=np.int64).reshape(-1, 2)
    # The tunnels of opposite pairs are each other's reverse: they are searched once.
    backwards = (asked[:, 0] > asked[:, 1]) & finder.symmetric
    ordered = np.where(backwards[:, np.newaxis], asked[:, ::-1], asked)
    distinct, which = np.unique(ordered, axis=0, return_inverse=True)
    tasks = [
        _Task(distinct[start : start + _PAIRS_PER_TASK], count, disjoint_only)
        for start in range(0, len(distinct), _PAIRS_PER_TASK)
    ]
    found = []
    for part in in_processes(_find, finder, tasks, min(processes or processors(), max(len(tasks), 1))):
        found.append(part)
        if progress is not None:
            progress(min(len(found) * _PAIRS_PER_TASK, len(distinct)), len(distinct))
    once = _joined(finder.names, found)
    return _picked(once, which.reshape(-1), backwards)


@dataclass(frozen=True)
class _Task:
    pairs: NDArray[np.int64]
    count: int
    disjoint_only: bool


@dataclass(frozen=True)
class _Found:
    """The result of one task: the nodes of tunnels, the number of nodes of each, the number of tunnels of each pair."""

    nodes: Nodes
    lengths: Indices
    counts: Indices


def _find(finder: TunnelFinder, task: _Task) -> _Found:
    found = [
        finder.paths(source, target, task.count, disjoint_only=task.disjoint_only)
        for source, target in task.pairs.tolist()
    ]
    paths = [path for of_pair in found for path in of_pair]
    return _Found(
        np.array([node for path in paths for node in path], dtype=np.min_scalar_type(len(finder.names))),
        np.array([len(path) for path in paths], dtype=np.int64),
        np.array([len(of_pair) for of_pair in found], dtype=np.int64),
    )


def _joined(names: tuple[str, ...], found: Sequence[_Found]) -> TunnelTable:
    empty = np.zeros(0, dtype=np.int64)
    return TunnelTable(
        names,
        np.concatenate([part.nodes for part in found] or [empty.astype(np.uint8)]),
        ends(np.concatenate([part.lengths for part in found] or [empty])),
        ends(np.concatenate([part.counts for part in found] or [empty])),
    )


def _picked(table: TunnelTable, pairs: Indices, backwards: NDArray[np.bool_]) -> TunnelTable:
    """Return the table of these pairs of another table, some with their tunnels reversed."""
    counts = np.diff(table.pair_starts)[pairs]
    tunnels = ranges(table.pair_starts[pairs], counts)
    reverse = np.repeat(backwards, counts)
    lengths = np.diff(table.starts)[tunnels]
    starts = ends(lengths)
    nodes = np.empty(starts[-1], dtype=table.nodes.dtype)
    for first, last in parts(tunnels.size):
        length, back = lengths[first:last], reverse[first:last]
        place = np.arange(starts[last] - starts[first]) - np.repeat(starts[first:last] - starts[first], length)
        place = np.where(np.repeat(back, length), np.repeat(length, length) - 1 - place, place)
        nodes[starts[first] : starts[last]] = table.nodes[np.repeat(table.starts[tunnels[first:last]], length) + place]
    return TunnelTable(table.names, nodes, starts, ends(counts))
