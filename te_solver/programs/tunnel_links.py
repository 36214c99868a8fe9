"""The links of very many tunnels in three arrays, with sums over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from te_solver.programs.highs import Indices, Vector
from te_solver.programs.incidence import Incidence

_AT_A_TIME = 1 << 16
"""Tunnels processed together, so that no further array is as long as that of all links."""


@dataclass(frozen=True)
class TunnelLinks:
    """The links of T tunnels of P pairs, concatenated; every pair has a tunnel, every tunnel a link.

    Attributes:
        links: the links of the first tunnel, then of the second, and so on.
        starts: where each tunnel starts in `links`, and where the last one ends, shape (T + 1,).
        pair_starts: the first tunnel of each pair, and T, shape (P + 1,).
    """

    links: NDArray[np.integer]
    starts: Indices
    pair_starts: Indices

    @classmethod
    def of(cls, incidence: Incidence) -> TunnelLinks:
        """Return the links of an incidence whose columns count through the tunnels of pair after pair."""
        counts = np.bincount(incidence.pair_of_tunnel, minlength=incidence.pairs.shape[0])
        return cls(incidence.links.indices, incidence.links.indptr.astype(np.int64), ends(counts))

    @property
    def hops(self) -> Indices:
        """Number of links of each tunnel, shape (T,)."""
        return np.diff(self.starts)

    @property
    def tunnels_of_pair(self) -> Indices:
        """Number of tunnels of each pair, shape (P,)."""
        return np.diff(self.pair_starts)

    @property
    def pair_of_tunnel(self) -> Indices:
        """Pair of each tunnel, shape (T,)."""
        count = self.tunnels_of_pair
        return np.repeat(np.arange(count.size), count)

    def of_pairs(self, pairs: Indices) -> tuple[TunnelLinks, Indices]:
        """Return the tunnels of these pairs alone, and their positions among all tunnels."""
        count = self.tunnels_of_pair[pairs]
        tunnels = ranges(self.pair_starts[pairs], count)
        return TunnelLinks(self.links_of(tunnels), ends(self.hops[tunnels]), ends(count)), tunnels

    def links_of(self, tunnels: Indices) -> NDArray[np.integer]:
        """Return the links of these tunnels, concatenated."""
        return self.links[ranges(self.starts[tunnels], self.starts[tunnels + 1] - self.starts[tunnels])]

    def least(self, of_link: Vector) -> Vector:
        """Return the least value among the links of each tunnel, shape (T,)."""
        return self._reduced(np.minimum, of_link)

    def sums(self, of_link: Vector) -> Vector:
        """Return the sum of the values of the links of each tunnel, shape (T,)."""
        return self._reduced(np.add, of_link)

    def loads(self, rates: Vector, links: int) -> Vector:
        """Return the load of all tunnels' rates on each of `links` links."""
        used = np.flatnonzero(rates)
        load = np.zeros(links)
        for part in np.array_split(used, used.size // _AT_A_TIME + 1):
            hops = self.starts[part + 1] - self.starts[part]
            load += np.bincount(self.links_of(part), np.repeat(rates[part], hops), minlength=links)
        return load

    def sent(self, rates: Vector) -> Vector:
        """Return the sum of the tunnels' rates for each pair, shape (P,)."""
        return np.asarray(np.add.reduceat(rates, self.pair_starts[:-1]))

    def within(self, capacity: Vector, demand: Vector, rates: Vector) -> Vector:
        """Return the rates, each shrunk by its worst excess over a capacity or a demand."""
        of_link = _part_within(capacity, self.loads(rates, capacity.size))
        of_pair = _part_within(demand, self.sent(rates))
        return np.asarray(rates * np.minimum(self.least(of_link), of_pair[self.pair_of_tunnel]))

    def _reduced(self, function: np.ufunc, of_link: Vector) -> Vector:
        found = np.empty(self.starts.size - 1)
        for first, last in parts(found.size):
            begin, end = self.starts[first], self.starts[last]
            found[first:last] = function.reduceat(of_link[self.links[begin:end]], self.starts[first:last] - begin)
        return found


def _part_within(bound: Vector, taken: Vector) -> Vector:
    return np.divide(bound, taken, out=np.ones(taken.shape), where=taken > bound)


def parts(count: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds, first and past the last, of each part of `count` tunnels to process together."""
    for first in range(0, count, _AT_A_TIME):
        yield first, min(first + _AT_A_TIME, count)


def ranges(first: Indices, length: Indices) -> Indices:
    """Return `length[0]` numbers `first[0], first[0] + 1, ...`, then the same for the next."""
    return np.repeat(first - ends(length)[:-1], length) + np.arange(length.sum())


def ends(length: Indices) -> Indices:
    """Return a zero, then the ends of concatenated parts of these lengths."""
    return np.concatenate([[0], np.cumsum(length)])
