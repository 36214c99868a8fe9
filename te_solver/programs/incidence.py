"""Incidence of tunnels with links and pairs as sparse matrices, from which all programs are built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from te_solver.model.topology import Topology

Vector = NDArray[np.float64]

_AT_A_TIME = 1 << 14
"""Paths processed together, so that no further array is as long as that of all links."""


@dataclass(frozen=True)
class Incidence:
    """T tunnels over L links for P pairs.

    Attributes:
        links: 1 where a tunnel (column) uses a link (row), shape (L, T).
        pairs: 1 where a tunnel (column) belongs to a pair (row), shape (P, T).
        hops: links of each tunnel, shape (T,).
        edge_of_link: the edge, as its position in `Topology.edges`, of each link, shape (L,).
        ends: the nodes of each link, as (source, target), L of them.
        topology: the network that the tunnels belong to.
    """

    links: sp.csc_array
    pairs: sp.csc_array
    hops: Vector
    edge_of_link: NDArray[np.int64]
    ends: tuple[tuple[str, str], ...]
    topology: Topology

    @classmethod
    def of(cls, topology: Topology, tunnels: Sequence[Sequence[Sequence[str]]]) -> Incidence:
        """Return the incidence of `tunnels`, which holds each pair's tunnels as node names.

        Rows have the order of the topology's links and of the pairs. Columns count through the tunnels of the first
        pair, then of the second, and so on.
        """
        paths = [path for of_pair in tunnels for path in of_pair]
        return cls.along(topology, [len(of_pair) for of_pair in tunnels], *links_of_paths(topology, paths))

    @classmethod
    def along(
        cls, topology: Topology, sizes: Sequence[int], starts: NDArray[np.int64], links_in_order: NDArray[np.int32]
    ) -> Incidence:
        """Return the incidence of tunnels, so many of each pair, whose links are as `links_of_paths` returns them."""
        tunnels = starts.size - 1
        kind = np.int32 if starts[-1] <= np.iinfo(np.int32).max else np.int64  # SciPy would take the widest given
        ones, rows = np.ones(links_in_order.size), links_in_order.astype(kind)  # a copy, which is sorted in place
        links = sp.csc_array((ones, rows, starts.astype(kind)), shape=(len(topology.links), tunnels))
        links.sort_indices()
        pairs = sp.csc_array(
            (np.ones(tunnels), np.repeat(np.arange(len(sizes)), sizes), np.arange(tunnels + 1)),
            shape=(len(sizes), tunnels),
        )
        position = {frozenset(edge): number for number, edge in enumerate(topology.edges)}
        edge_of_link = np.array([position[frozenset(link.ends)] for link in topology.links], dtype=np.int64)
        ends = tuple(link.ends for link in topology.links)
        return cls(links, pairs, np.diff(starts).astype(np.float64), edge_of_link, ends, topology)

    @property
    def pair_of_tunnel(self) -> NDArray[np.int64]:
        """The pair of each tunnel, shape (T,)."""
        return np.asarray(self.pairs.indices, dtype=np.int64)

    @property
    def shortest_tunnels(self) -> NDArray[np.int64]:
        """The tunnel of fewest hops of each pair, the first of several, shape (P,)."""
        return np.array([own[np.argmin(self.hops[own])] for own in self.tunnels_of_pair], dtype=np.int64)

    def edges_of_tunnel(self, tunnel: int) -> tuple[int, ...]:
        """Return the edges that a tunnel crosses, as positions in `Topology.edges`."""
        return tuple(self.edge_of_link[self.links_of_tunnel(tunnel)].tolist())

    def links_of_tunnel(self, tunnel: int) -> NDArray[np.int64]:
        """Return the links of a tunnel, as rows in ascending order."""
        return np.asarray(self.links.indices[self.links.indptr[tunnel] : self.links.indptr[tunnel + 1]])

    def hops_of_tunnel(self, tunnel: int) -> frozenset[tuple[str, str]]:
        """Return the nodes of each link of a tunnel, as (source, target)."""
        return frozenset(self.ends[link] for link in self.links_of_tunnel(tunnel).tolist())

    def pair_ends(self, tunnel: int) -> tuple[str, str]:
        """Return the first and the last node of a tunnel."""
        hops = self.hops_of_tunnel(tunnel)
        tails, heads = {tail for tail, _ in hops}, {head for _, head in hops}
        (source,), (target,) = tails - heads, heads - tails
        return source, target

    @property
    def tunnels_of_pair(self) -> list[NDArray[np.int64]]:
        """The tunnels of each pair, as columns in ascending order."""
        by_pair = sp.csr_array(self.pairs)
        return [np.asarray(columns) for columns in np.split(by_pair.indices, by_pair.indptr[1:-1])]


def links_of_paths(topology: Topology, paths: Sequence[Sequence[str]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where each path's links begin and the last one's end, and the links of all paths in their order, as rows.

    Raises:
        KeyError: a path uses a node or a link that the topology lacks.
    """
    position = {node: number for number, node in enumerate(topology.nodes)}
    ends = np.array([(position[link.source], position[link.target]) for link in topology.links], dtype=np.int64)
    between = ends.reshape(-1, 2) @ [len(position), 1]
    row_of = np.argsort(between)
    between = between[row_of]
    sizes = np.fromiter(map(len, paths), np.int64, count=len(paths))
    starts = np.concatenate([[0], np.cumsum(sizes - 1)])
    links = np.empty(starts[-1], dtype=np.int32)
    for first in range(0, len(paths), _AT_A_TIME):
        some = paths[first : first + _AT_A_TIME]
        nodes = np.fromiter(map(position.__getitem__, chain.from_iterable(some)), np.int64)
        within = np.ones(nodes.size - 1, dtype=np.bool_)
        within[np.cumsum(sizes[first : first + len(some)])[:-1] - 1] = False
        hops = (nodes[:-1] * len(position) + nodes[1:])[within]
        places = np.minimum(np.searchsorted(between, hops), between.size - 1)
        unknown = np.flatnonzero(between[places] != hops)
        if unknown.size:
            raise KeyError(tuple(topology.nodes[node] for node in divmod(int(hops[unknown[0]]), len(position))))
        links[starts[first] : starts[first + len(some)]] = row_of[places]
    return starts, links


def least(matrix: sp.csc_array, of_row: Vector) -> Vector:
    """Return for every column the least value among the rows in which it has entries; every column has some."""
    return np.asarray(np.minimum.reduceat(of_row[matrix.indices], matrix.indptr[:-1]))


def scaled(matrix: sp.csc_array, of_column: Vector, of_row: Vector) -> sp.csc_array:
    """Return the matrix with each entry multiplied by its column's value and divided by its row's."""
    entries = matrix.data * np.repeat(of_column, np.diff(matrix.indptr)) / of_row[matrix.indices]
    return sp.csc_array((entries, matrix.indices, matrix.indptr), shape=matrix.shape)


def within_capacity(incidence: Incidence, capacity: Vector, rates: Vector) -> Vector:
    """Return the rates, each shrunk by its worst excess over a link, which the solver's tolerance allows."""
    return np.asarray(rates * least(incidence.links, _part_within(capacity, incidence.links @ rates)))


def within_bounds(incidence: Incidence, capacity: Vector, demand: Vector, rates: Vector) -> Vector:
    """Return the rates, each shrunk by its worst excess over a link or a demand."""
    links = least(incidence.links, _part_within(capacity, incidence.links @ rates))
    pairs = _part_within(demand, incidence.pairs @ rates)[incidence.pair_of_tunnel]
    return np.asarray(rates * np.minimum(links, pairs))


def _part_within(bound: Vector, taken: Vector) -> Vector:
    return np.divide(bound, taken, out=np.ones(taken.shape), where=taken > bound)
