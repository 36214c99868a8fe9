"""Maximum throughput of very large networks in parts, each with some of the demands and a share of every capacity."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kuijia_base.parallel import Progress, ResultsOf, processors, workers
from te_solver.programs.column_generation import NearOptimum, nearly_most_throughput, upper_bound
from te_solver.programs.highs import Indices, Vector
from te_solver.programs.tunnel_links import TunnelLinks

_SPLIT = 0.25
"""Additional demands allowed by splitting the largest, as a share of their number."""

_STEPS = 60
"""Steps of a bisection, after which both ends are equal."""

_SAMPLED = 20_000
"""Pairs in the sample that selects the prices with good bounds."""

_FULL = 1e-6
"""Share of its capacity that may be unused on a full link."""

_TRIED = 3
"""Number of prices whose bounds are computed."""


@dataclass(frozen=True)
class Partitioning:
    """Parameters of the division into parts.

    Attributes:
        parts: number of programs solved instead of one; more take less time and lose more.
        rounds: number of times that the demands are dealt; the first round finds rates, each further one improves them.
        seed: the seed of the random assignment of demands to parts.
        processes: number of programs solved at a time, by default one on each processor; the answer does not depend
            on it.
        gap: allowed shortfall of a part's rates from their greatest sum, as a share of it; not less than 0.0002.
    """

    parts: int
    rounds: int = 2
    seed: int = 1
    processes: int | None = None
    gap: float = 1e-3


@dataclass(frozen=True)
class PartitionedOptimum:
    """Rates within all bounds, and an upper bound of their sum.

    Attributes:
        rates: Mbit/s of each tunnel, shape (T,).
        bound: upper bound of the sum of rates, Mbit/s.
        solve_seconds: wall time of the whole solution.
    """

    rates: Vector
    bound: float
    solve_seconds: float

    @property
    def loss(self) -> float:
        """Largest possible share of the maximum throughput that is missing."""
        return max(0.0, 1 - float(self.rates.sum()) / self.bound) if self.bound > 0 else 0.0


@dataclass(frozen=True)
class _Hand:
    """The pairs that a part is dealt, and the share of each one's demand."""

    pairs: Indices
    share: Vector


@dataclass(frozen=True)
class _Part:
    tunnels: TunnelLinks
    capacity: Vector
    demand: Vector


def partitioned_throughput(
    tunnels: TunnelLinks, capacity: Vector, demand: Vector, how: Partitioning, progress: Progress | None = None
) -> PartitionedOptimum:
    """Return rates of nearly maximum throughput within capacities and demands, by solving parts of the problem alone.

    The first round is POP (Narayanan et al., SOSP 2021): demands are divided at random over parts, each part has the
    same share of every capacity, and the sum of their rates keeps all bounds. With many demands of each size every part
    resembles the whole, and little is lost. To get closer to that, the largest demands are split over several parts,
    and all are dealt like cards, in the order of their sizes.

    In each further round the demands are dealt again. Each part has the capacity that its demands have used so far, and
    its share of what is left over: none can lose, and many gain from the new combination.

    The loss is known from a bound on the throughput: a part's prices of links are valid prices for the whole as well
    (see `upper_bound`).

    Args:
        tunnels: T tunnels over L links of P pairs, those of a pair shortest first.
        capacity: Mbit/s of each link, shape (L,), not negative.
        demand: Mbit/s of each pair, shape (P,), not negative.
        how: the parameters of the division.
        progress: called with the number of solved programs.

    Raises:
        SolverError: HiGHS did not reach an optimum.
    """
    started = time.perf_counter()
    random = np.random.default_rng(how.seed)
    rates = np.zeros(tunnels.hops.size)
    prices: list[Vector] = []
    with workers(how.gap, how.processes or processors()) as results_of:
        for number in range(how.rounds):
            hands = _dealt(demand, how.parts, random)
            prices.clear()
            better = np.zeros(rates.size)
            for columns, improved in _improved(tunnels, capacity, demand, rates, hands, results_of):
                better[columns] += improved.rates
                prices.append(improved.prices)
                if progress is not None:
                    progress(number * len(hands) + len(prices), how.rounds * len(hands))
            rates = better
    return PartitionedOptimum(rates, _bound(tunnels, capacity, demand, rates, prices), time.perf_counter() - started)


def _improved(
    tunnels: TunnelLinks,
    capacity: Vector,
    demand: Vector,
    rates: Vector,
    hands: Sequence[_Hand],
    results_of: ResultsOf,
) -> Iterator[tuple[Indices, NearOptimum]]:
    """Yield for each hand its tunnels and rates for them, whose sum is no less than before."""
    left_over = np.maximum(capacity - tunnels.loads(rates, capacity.size), 0)
    present: list[tuple[Indices, Vector]] = []

    def parts() -> Iterator[_Part]:
        for hand in hands:
            own, columns = tunnels.of_pairs(hand.pairs)
            own_rates = rates[columns] * hand.share[own.pair_of_tunnel]
            present.append((columns, own_rates))
            own_capacity = own.loads(own_rates, capacity.size) + left_over / len(hands)
            yield _Part(own, own_capacity, demand[hand.pairs] * hand.share)

    for number, optimum in enumerate(results_of(_solved, parts())):
        columns, own_rates = present[number]
        if optimum.rates.sum() >= own_rates.sum():
            yield columns, optimum
        else:
            yield columns, NearOptimum(own_rates, optimum.prices, optimum.bound)


def _solved(gap: float, part: _Part) -> NearOptimum:
    return nearly_most_throughput(part.tunnels, part.capacity, part.demand, gap)


def _dealt(demand: Vector, parts: int, random: np.random.Generator) -> list[_Hand]:
    """Return the demands, in pieces, dealt over parts like cards, largest first, without parts that get none."""
    pieces = _pieces(demand, parts)
    pair = np.repeat(np.arange(demand.size), pieces)
    largest_first = np.argsort(-(demand[pair] / pieces[pair]), kind="stable")
    rounds = -(-pair.size // parts)
    receiver = random.permuted(np.tile(np.arange(parts), (rounds, 1)), axis=1).ravel()[: pair.size]
    hands = []
    for part in range(parts):
        received = np.bincount(pair[largest_first[receiver == part]], minlength=demand.size)
        pairs = np.flatnonzero(received)
        if pairs.size:
            hands.append(_Hand(pairs, received[pairs] / pieces[pairs]))
    return hands


def _pieces(demand: Vector, parts: int) -> Indices:
    """Return the number of equal pieces of each demand that makes the largest piece as small as possible.

    Client splitting (Narayanan et al., SOSP 2021, section 4).
    """

    def pieces(largest: float) -> Vector:
        return np.clip(np.ceil(demand / largest), demand > 0, parts)

    allowed = np.count_nonzero(demand) * (1 + _SPLIT)
    low, high = 0.0, float(demand.max(initial=0.0)) or 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if pieces(middle).sum() > allowed else (low, middle)
    return pieces(high).astype(np.int64)


def _bound(tunnels: TunnelLinks, capacity: Vector, demand: Vector, rates: Vector, prices: Sequence[Vector]) -> float:
    """Return the least bound of several prices, or nearly; a sample of the pairs selects the prices worth trying.

    The prices of parts mean little if parts are small. So prices of zero (no more is carried than demanded) and of one
    for each full link (a tunnel over one of them gains nothing) are tried as well.
    """
    if not prices:
        return 0.0
    full = tunnels.loads(rates, capacity.size) >= capacity * (1 - _FULL)
    candidates = [
        np.zeros(capacity.size),
        full.astype(np.float64),
        *prices,
        np.mean(prices, axis=0),
        np.median(prices, axis=0),
    ]
    every = -(-demand.size // _SAMPLED)
    sample = np.sort(np.argsort(-demand, kind="stable")[every // 2 :: every])
    if not demand[sample].any():
        # Few pairs ask for anything, and none of them is in the sample: every bound is cheap.
        sample = np.flatnonzero(demand)
    if not sample.size:
        return 0.0
    some, _ = tunnels.of_pairs(sample)
    in_sample = demand[sample] * (demand.sum() / demand[sample].sum())
    estimates = [upper_bound(some, capacity, in_sample, candidate) for candidate in candidates]
    promising = np.argsort(estimates, kind="stable")[:_TRIED]
    return min(upper_bound(tunnels, capacity, demand, candidates[number]) for number in promising)
