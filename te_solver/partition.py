"""Maximum throughput of very large networks in parts: each has some of the demands and its share of every capacity."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from te_solver.column_generation import NearOptimum, nearly_most_throughput, upper_bound
from te_solver.highs import Indices, Vector
from te_solver.parallel import Progress, in_processes, processors
from te_solver.tunnel_links import TunnelLinks

_SPLIT = 0.25
"""How many more demands there may be once the largest are split, as a part of their number."""

_STEPS = 60
"""Of a bisection, after which both ends are the same."""

_DUST = 1e-9
"""Below this part of a capacity or demand, what is left of it is rounding."""


@dataclass(frozen=True)
class Partitioning:
    """How the work is divided.

    Attributes:
        parts: how many programs are solved instead of one. More of them take less time, and lose more.
        seed: of the random choice which demands are in which part.
        processes: how many are solved at a time, by default one on each processor; the answer does not depend on it.
        gap: how far below its greatest sum the rates of a part may stay, as a part of that; not less than 0.0002.
    """

    parts: int
    seed: int = 1
    processes: int | None = None
    gap: float = 1e-3


@dataclass(frozen=True)
class PartitionedOptimum:
    """Rates that keep all bounds, and how far from the best they can be.

    Attributes:
        rates: Mbit/s of each tunnel, shape (T,).
        bound: Mbit/s that the sum of no rates within the same bounds exceeds.
        solve_seconds: from beginning to end.
    """

    rates: Vector
    bound: float
    solve_seconds: float

    @property
    def loss(self) -> float:
        """The part of the greatest throughput that is missing, at most."""
        return 1 - float(self.rates.sum()) / self.bound if self.bound > 0 else 0.0


@dataclass(frozen=True)
class _Part:
    tunnels: TunnelLinks
    capacity: Vector
    demand: Vector


def partitioned_throughput(
    tunnels: TunnelLinks, capacity: Vector, demand: Vector, how: Partitioning, progress: Progress | None = None
) -> PartitionedOptimum:
    """Rates of great throughput within capacities and demands, by solving parts of the problem on their own.

    This is POP (Narayanan et al., SOSP 2021): demands are divided at random over parts, each part has the same share
    of every capacity, and the sum of their rates keeps all bounds. With many demands of each size every part is like
    the whole, and little is lost. To be closer to that, the largest demands are split over several parts, and all are
    dealt out like cards, in the order of their sizes. What the parts leave over is filled by one more program. What is
    lost in the end is known from a bound on the throughput of any rates: the prices that the parts pay for links are
    prices for the whole as well (see `upper_bound`), and those in the middle are good ones.

    Args:
        tunnels: T tunnels over L links of P pairs, those of a pair shortest first.
        capacity: Mbit/s of each link, shape (L,), not negative.
        demand: Mbit/s of each pair, shape (P,), not negative.
        how: how to divide the work.
        progress: is told how many parts are done.

    Raises:
        SolverError: HiGHS did not reach an optimum.
    """
    started = time.perf_counter()
    dealt = _dealt(demand, how)
    columns: list[Indices] = []

    def parts() -> Iterator[_Part]:
        for pairs, share in dealt:
            own, which = tunnels.of_pairs(pairs)
            columns.append(which)
            yield _Part(own, capacity / len(dealt), share)

    rates = np.zeros(tunnels.hops.size)
    prices: list[Vector] = []
    for optimum in in_processes(_solved, how.gap, parts(), how.processes or processors()):
        rates[columns[len(prices)]] += optimum.rates
        prices.append(optimum.prices)
        if progress is not None:
            progress(len(prices), len(dealt))
    rates += _in_what_is_left(tunnels, capacity, demand, rates, how.gap)
    middles = [np.mean(prices, axis=0), np.median(prices, axis=0)] if prices else [np.zeros(capacity.size)]
    bound = min(upper_bound(tunnels, capacity, demand, middle) for middle in middles)
    return PartitionedOptimum(rates, bound, time.perf_counter() - started)


def _solved(gap: float, part: _Part) -> NearOptimum:
    return nearly_most_throughput(part.tunnels, part.capacity, part.demand, gap)


def _dealt(demand: Vector, how: Partitioning) -> list[tuple[Indices, Vector]]:
    """For every part its pairs, and what they ask for there; parts without any are left out."""
    pieces = _pieces(demand, how.parts)
    pair = np.repeat(np.arange(demand.size), pieces)
    size = demand[pair] / pieces[pair]
    largest_first = np.argsort(-size, kind="stable")
    rounds = -(-pair.size // how.parts)
    random = np.random.default_rng(how.seed)
    receiver = random.permuted(np.tile(np.arange(how.parts), (rounds, 1)), axis=1).ravel()[: pair.size]
    dealt = []
    for part in range(how.parts):
        received = largest_first[receiver == part]
        share = np.bincount(pair[received], size[received], minlength=demand.size).astype(np.float64)
        pairs = np.flatnonzero(share)
        if pairs.size:
            dealt.append((pairs, share[pairs]))
    return dealt


def _pieces(demand: Vector, parts: int) -> Indices:
    """How many equal pieces each demand is split into: the largest demands, so that no piece is larger than need be.

    Client splitting (Narayanan et al., SOSP 2021, section 4).
    """

    def split(largest: float) -> Vector:
        return np.clip(np.ceil(demand / largest), demand > 0, parts)

    allowed = np.count_nonzero(demand) * (1 + _SPLIT)
    low, high = 0.0, float(demand.max(initial=0.0)) or 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if split(middle).sum() > allowed else (low, middle)
    return split(high).astype(np.int64)


def _in_what_is_left(tunnels: TunnelLinks, capacity: Vector, demand: Vector, rates: Vector, gap: float) -> Vector:
    """Rates beside these, in what they leave of capacities and demands."""
    further = np.zeros(rates.size)
    room = _left(capacity, tunnels.loads(rates, capacity.size))
    asked = _left(demand, tunnels.sent(rates))
    could = np.minimum(tunnels.least(room), asked[tunnels.pair_of_tunnel])
    pairs = np.unique(tunnels.pair_of_tunnel[could > 0])
    if pairs.size:
        own, columns = tunnels.of_pairs(pairs)
        further[columns] = nearly_most_throughput(own, room, asked[pairs], gap).rates
    return further


def _left(bound: Vector, taken: Vector) -> Vector:
    left = bound - taken
    return np.where(left > _DUST * bound, left, 0.0)
