"""Maximum concurrent flow of very many demands over any paths, nearly optimal, with a proof of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from kuijia_base.errors import UnsoundError
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology
from te_solver.programs.highs import Indices
from te_solver.programs.incidence import Vector

Matrix = NDArray[np.float64]

_AT_ONCE = 32
"""Sources whose trees are found together, under the same lengths."""

_PASSES = 4
"""Passes over all sources between two proofs."""

_LEAST_LENGTH = 1e-7
"""Share of the mean price that each link has at least, so that unused links are not free."""

_BISECTIONS = 20
"""Halvings of a step; the last is one part in a million."""

_BLUNTEST, _SHARPER = 4.0, 1.1
"""Sharpness of the smooth maximum at the beginning, as the reciprocal of its error, and its least growth by proof.

The error follows the gap proven, as flows hardly move where it is far smaller. It ends at half the gap wanted.
"""

_REMEMBERED = 0.5
"""Weight of the lengths before the last proof in the mean lengths, which prove more than the last ones."""

_BEYOND = 40.0
"""Exponents further below the greatest make no difference."""

_PATIENCE, _SLOW = 100, 0.97
"""The search ends when the gap is still this share of the one so many proofs ago."""

_SEED = 1


@dataclass(frozen=True)
class ConcurrentFlow:
    """A flow over any paths in which every pair gets nearly the greatest share of its demand, and the proof.

    Attributes:
        value: the share of its demand that every pair can get at the same time.
        bound: upper bound of the value.
        flows: Mbit/s from each source (row) on each link (column) if every pair gets its whole demand, shape (S, L).
        sources: the node of each row.
        seconds: duration of the search.
    """

    value: float
    bound: float
    flows: Matrix
    sources: tuple[str, ...]
    seconds: float

    @property
    def gap(self) -> float:
        """Share of the bound by which the value is at most below the optimum."""
        return 1 - self.value / self.bound


def nearly_concurrent(
    topology: Topology,
    demands: Sequence[Demand],
    gap: float = 0.01,
    most_seconds: float = np.inf,
    watch: Callable[[ConcurrentFlow], None] | None = None,
) -> ConcurrentFlow:
    """Return a flow whose value is at most the share `gap` below the bound, or more where steps hardly help any more.

    On small networks, and with demands of very different sizes, the gap may stop falling far above the wanted one.

    The greatest utilisation is replaced by a smooth maximum over all links, log(sum(exp(b u_e))) / b. Its derivatives
    are prices, under which the demands of each source are routed on the tree of shortest paths; the source's flow then
    moves towards the tree as far as the smooth maximum falls (Frank and Wolfe, Naval Research Logistics Quarterly 3,
    1956, by sources in turn: Lacoste-Julien et al., ICML 2013; smooth as in Grigoriadis and Khachiyan, SIAM Journal on
    Optimization 4, 1994). b grows until it is sharp enough for the gap. For any lengths y of links, no share s is above

        sum(c_e y_e) / sum(d_f (distance between the ends of f))

    (weak duality; Shahrokhi and Matula, JACM 37(2), 1990). Memory is that of one flow for each source and link.

    Args:
        topology: the network.
        demands: one or more above zero between different, connected nodes.
        gap: a share of the bound.
        most_seconds: end then with whatever gap there is.
        watch: called after each proof.

    Raises:
        UnsoundError: a demand has no path; its `where` is `demands`.
    """
    started = time.perf_counter()
    sources = _Sources(topology, demands)
    capacity = sources.capacity
    length, sharp = 1 / capacity, _BLUNTEST
    flows = np.concatenate([sources.on_trees(rows, length) for rows in sources.blocks])
    bound = sources.bound(length)
    mean = np.zeros(capacity.size)
    random = np.random.default_rng(_SEED)
    gaps: list[float] = []
    while True:
        used = flows.sum(axis=0) / capacity
        found = ConcurrentFlow(float(1 / used.max()), bound, flows, sources.names, time.perf_counter() - started)
        if watch is not None:
            watch(found)
        gaps.append(found.gap)
        is_stuck = len(gaps) > _PATIENCE and found.gap > _SLOW * gaps[-1 - _PATIENCE]
        if found.gap <= gap or found.seconds >= most_seconds or is_stuck:
            return found
        sharp = min(max(sharp * _SHARPER, 1 / found.gap), 2 / gap)
        mean *= _REMEMBERED
        for block in [sources.blocks[each] for _ in range(_PASSES) for each in random.permutation(len(sources.blocks))]:
            steepness = np.log(capacity.size) * sharp / used.max()
            length = _lengths(steepness, used) / capacity
            mean += length / (capacity @ length)
            changes = sources.on_trees(block, length) - flows[block]
            for row, change in zip(block.tolist(), changes, strict=True):
                step = _step(steepness, used, change / capacity)
                if step > 0:
                    flows[row] += step * change
                    used += step * change / capacity
        bound = min(bound, sources.bound(mean), sources.bound(length))


class _Sources:
    """The demands by source, and the search for shortest paths from each.

    Attributes:
        names: the node of each source.
        capacity: of each link, shape (L,).
        blocks: numbers of the sources whose trees are found together.
    """

    def __init__(self, topology: Topology, demands: Sequence[Demand]) -> None:
        nodes = {node: number for number, node in enumerate(topology.nodes)}
        self.names = tuple(dict.fromkeys(each.source for each in demands))
        self.capacity = np.array([link.capacity for link in topology.links])
        numbers = np.arange(len(self.names))
        self.blocks = [numbers[first : first + _AT_ONCE] for first in range(0, numbers.size, _AT_ONCE)]
        self._roots = np.array([nodes[name] for name in self.names])
        self._demand = np.zeros((len(self.names), len(nodes)))
        row = {name: number for number, name in enumerate(self.names)}
        places = [row[each.source] for each in demands], [nodes[each.target] for each in demands]
        np.add.at(self._demand, places, [each.rate for each in demands])
        tails = np.array([nodes[link.source] for link in topology.links])
        heads = np.array([nodes[link.target] for link in topology.links])
        self._order = np.lexsort((heads, tails))
        self._heads = heads[self._order]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=len(nodes)))])
        self._ends = tails[self._order] * len(nodes) + self._heads
        far = np.where(np.isinf(self._distances(np.ones(self.capacity.size))), self._demand, 0.0)
        if far.any():
            source, target = np.unravel_index(int(far.argmax()), far.shape)
            pair = f"{self.names[int(source)]} -> {topology.nodes[int(target)]}"
            raise UnsoundError(("demands",), f"{pair} has no path", "demands between connected nodes")

    def on_trees(self, rows: Indices, length: Vector) -> Matrix:
        """Return the flow of each of these sources on its tree of shortest paths, shape (rows, L)."""
        _, before = dijkstra(self._graph(length), indices=self._roots[rows], return_predecessors=True)
        nodes = self._demand.shape[1]
        nobody = rows.size * nodes
        inside = before >= 0
        up = np.append(np.where(inside, before + nodes * np.arange(rows.size)[:, None], nobody), nobody)
        below = np.flatnonzero(up < nobody)
        # What passes a node is what all nodes behind it ask for: after n rounds those up to 2^n - 1 hops behind it.
        passing = np.append(self._demand[rows], 0.0)
        moving = below
        while moving.size:
            passing += np.bincount(up[moving], passing[moving], minlength=passing.size)
            up = up[up]
            moving = moving[up[moving] < nobody]
        ends = (before * nodes + np.arange(nodes))[inside]
        links = self._order[np.searchsorted(self._ends, ends)]
        where = below // nodes * self.capacity.size + links
        flows = np.bincount(where, passing[below], minlength=rows.size * self.capacity.size).astype(np.float64)
        return flows.reshape(rows.size, -1)

    def bound(self, length: Vector) -> float:
        """Return the upper bound of the share that lengths prove, valid for any of them."""
        return float(self.capacity @ length / (self._demand * self._distances(length)).sum())

    def _distances(self, length: Vector) -> Matrix:
        return np.asarray(dijkstra(self._graph(length), indices=self._roots))

    def _graph(self, length: Vector) -> sp.csr_array:
        nodes = self._demand.shape[1]
        return sp.csr_array((length[self._order], self._heads, self._starts), shape=(nodes, nodes))


def _lengths(steepness: float, used: Vector) -> Vector:
    """Return the derivatives of the smooth maximum of utilisations, each a little above zero."""
    share = np.exp(steepness * (used - used.max()))
    return np.asarray(share / share.sum() + _LEAST_LENGTH / used.size)


def _step(steepness: float, used: Vector, change: Vector) -> float:
    """Return the step from 0 to 1 along a change that makes the smooth maximum least."""
    most = used.max()
    matters = np.flatnonzero((change != 0) & (used + np.maximum(change, 0) > most - _BEYOND / steepness))
    change = steepness * change[matters]
    now = steepness * (used[matters] - most)
    if np.exp(now) @ change >= 0:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        exponents = now + middle * change
        if np.exp(exponents - exponents.max()) @ change > 0:
            high = middle
        else:
            low = middle
    return low
