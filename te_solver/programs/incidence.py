"""Incidence of tunnels with links and pairs as sparse matrices, from which all programs are built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from te_solver.model.topology import Topology

Vector = NDArray[np.float64]


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
        row_of = {link.ends: row for row, link in enumerate(topology.links)}
        paths = [path for of_pair in tunnels for path in of_pair]
        hops = np.array([len(path) - 1 for path in paths], dtype=np.int64)
        sizes = np.array([len(of_pair) for of_pair in tunnels], dtype=np.int64)
        # Column by column without an intermediate list: there may be tens of millions.
        rows = np.fromiter((row_of[hop] for path in paths for hop in pairwise(path)), np.int32, count=hops.sum())
        starts = np.concatenate([[0], np.cumsum(hops)])
        links = sp.csc_array((np.ones(rows.size), rows, starts), shape=(len(topology.links), len(paths)))
        links.sort_indices()
        pairs = sp.csc_array(
            (np.ones(len(paths)), np.repeat(np.arange(len(tunnels)), sizes), np.arange(len(paths) + 1)),
            shape=(len(tunnels), len(paths)),
        )
        position = {frozenset(edge): number for number, edge in enumerate(topology.edges)}
        edge_of_link = np.array([position[frozenset(link.ends)] for link in topology.links], dtype=np.int64)
        ends = tuple(link.ends for link in topology.links)
        return cls(links, pairs, hops.astype(np.float64), edge_of_link, ends, topology)

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
