"""Maximum throughput over very many tunnels: column generation gives HiGHS only the few that the answer needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from te_solver.programs.highs import HighsProgram, Indices, Vector
from te_solver.programs.tunnel_links import TunnelLinks

_COVERED = 0.7
"""Share of the possible gain that the tunnels added in one round account for: a few make up most of it."""

_HOPS_MATTER = 1e-4
"""Share of its rate that a tunnel with the most hops is worth less than one without any: shorter tunnels win ties."""

_ROUNDING = 1e-7

_EXACT = 1e-9
"""Gap of an optimum: of the size of the solver's tolerances."""

_DUST = 1e-9
"""A rate below this share of what its tunnel could carry alone is the solver's rounding."""


@dataclass(frozen=True)
class NearOptimum:
    """Rates that are nearly optimal, and the proof.

    Attributes:
        rates: Mbit/s of each tunnel, shape (T,).
        prices: value of one more Mbit/s of each link's capacity, shape (L,), not negative.
        bound: upper bound of the sum of rates.
    """

    rates: Vector
    prices: Vector
    bound: float


def upper_bound(tunnels: TunnelLinks, capacity: Vector, demand: Vector, prices: Vector) -> float:
    """Return an upper bound of the sum of rates within capacities and demands, valid for any prices of the links.

    Let a Mbit/s on a tunnel earn 1 and each of its links cost its price. Rates that sum to S earn S. They pay for links
    at most the cost of all capacity; each Mbit/s of a pair keeps at most what its cheapest tunnel leaves of 1, if
    anything. So S is at most the sum of the two (weak duality).
    """
    return _bound(tunnels, capacity, demand, prices, tunnels.sums(prices))


def nearly_most_throughput(tunnels: TunnelLinks, capacity: Vector, demand: Vector, gap: float) -> NearOptimum:
    """Return rates whose sum is at most the share `gap` below the maximum within capacities and demands.

    Column generation (Ford and Fulkerson, Management Science 5, 1958): the program starts with one tunnel of each pair.
    The prices of links in its solution give the possible gain of other tunnels; those with the largest gain are added
    until the rest could gain no more than the gap. The demand of a pair caps its only tunnel, and is a row of the
    program once the pair has several tunnels.

    Args:
        tunnels: T tunnels over L links of P pairs, those of a pair shortest first.
        capacity: Mbit/s of each link, shape (L,), not negative.
        demand: Mbit/s of each pair, shape (P,), not negative.
        gap: a share of the greatest sum, not less than 0.0002.

    Raises:
        SolverError: HiGHS did not reach an optimum.
    """
    return _generated(tunnels, capacity, demand, gap, _HOPS_MATTER)


def most_throughput(tunnels: TunnelLinks, capacity: Vector, demand: Vector) -> NearOptimum:
    """Return rates of the greatest sum, up to the solver's tolerance, and the prices that prove it.

    Tunnels are added as by `nearly_most_throughput` until none of the others could gain anything; hops do not matter.

    Raises:
        SolverError: HiGHS did not reach an optimum.
    """
    return _generated(tunnels, capacity, demand, _EXACT, 0.0)


def _generated(tunnels: TunnelLinks, capacity: Vector, demand: Vector, gap: float, hops_matter: float) -> NearOptimum:
    pair = tunnels.pair_of_tunnel
    alone = np.minimum(tunnels.least(capacity), demand[pair])
    unit = float(alone.max())
    if unit == 0:
        return NearOptimum(np.zeros(pair.size), (capacity == 0).astype(np.float64), 0.0)
    with np.errstate(over="ignore"):
        # In shares of the largest possible rate, so that tolerances mean the same for all. No sum of shares exceeds the
        # number of tunnels: larger bounds can be cut to more than that, so that only true limits get a price.
        capacity, demand = (np.minimum(bound / unit, pair.size + 1) for bound in (capacity, demand))
    worth = 1 - hops_matter * tunnels.hops / tunnels.hops.max()
    usable = np.flatnonzero(alone > 0)
    _, first = np.unique(pair[usable], return_index=True)
    program = _Program(tunnels, worth, capacity, demand)
    program.add(usable[first])
    best = NearOptimum(np.zeros(pair.size), np.zeros(capacity.size), np.inf)
    while True:
        rates, prices = program.solve()
        cost = tunnels.sums(prices)
        # A tunnel is worth less than 1: prices at which none gains must be raised so that none keeps anything of 1.
        prices, raised = prices / (1 - hops_matter), cost / (1 - hops_matter)
        bound = _bound(tunnels, capacity, demand, prices, raised)
        best = NearOptimum(rates, prices, bound) if bound < best.bound else NearOptimum(rates, best.prices, best.bound)
        missing = program.missing(cost)
        if rates.sum() >= best.bound * (1 - gap) or not missing.size:
            rates = np.where(rates < _DUST * alone / unit, 0.0, rates)
            # Remove the excess over bounds that the solver's tolerance allows.
            return NearOptimum(tunnels.within(capacity, demand, rates) * unit, best.prices, best.bound * unit)
        program.add(missing)


class _Program:
    """The program of maximum throughput over some of the tunnels."""

    def __init__(self, tunnels: TunnelLinks, worth: Vector, capacity: Vector, demand: Vector) -> None:
        self._tunnels = tunnels
        self._pair = tunnels.pair_of_tunnel
        self._worth = worth
        self._links = capacity.size
        self._demand = demand
        self._columns = np.zeros(0, dtype=np.int64)
        self._row_of_pair = np.full(demand.size, -1)
        self._upper = capacity
        self._highs = HighsProgram(sp.csc_array((capacity.size, 0)), np.zeros(0))

    def add(self, tunnels: Indices) -> None:
        """Add new tunnels, and a row for each pair that now has several."""
        count = np.bincount(self._pair[np.concatenate([self._columns, tunnels])], minlength=self._demand.size)
        pairs = np.flatnonzero((count > 1) & (self._row_of_pair < 0))
        self._row_of_pair[pairs] = self._upper.size + np.arange(pairs.size)
        there = np.flatnonzero(np.isin(self._pair[self._columns], pairs))
        rows = self._row_of_pair[self._pair[self._columns[there]]] - self._upper.size
        self._highs.add_rows(
            sp.csr_array((np.ones(there.size), (rows, there)), shape=(pairs.size, self._columns.size)),
            self._demand[pairs],
        )
        self._upper = np.append(self._upper, self._demand[pairs])
        hops = self._tunnels.hops[tunnels]
        in_row = np.flatnonzero(self._row_of_pair[self._pair[tunnels]] >= 0)
        entries = np.concatenate([self._tunnels.links_of(tunnels), self._row_of_pair[self._pair[tunnels[in_row]]]])
        columns = np.concatenate([np.repeat(np.arange(tunnels.size), hops), in_row])
        self._highs.add_columns(
            sp.csc_array((np.ones(entries.size), (entries, columns)), shape=(self._upper.size, tunnels.size)),
            -self._worth[tunnels],
            self._demand[self._pair[tunnels]],
        )
        self._columns = np.concatenate([self._columns, tunnels])

    def solve(self) -> tuple[Vector, Vector]:
        """Return the best rates of all tunnels, zero for those not in the program, and the prices of the links."""
        self._highs.bound_rows(np.full(self._upper.size, -np.inf), self._upper)
        rates = np.zeros(self._pair.size)
        rates[self._columns] = self._highs.solve(primal=self._highs.first_basis is not None)
        return rates, np.maximum(self._highs.prices[: self._links], 0)

    def missing(self, cost: Vector) -> Indices:
        """Return the tunnels with the largest gain if added, at most one of a pair; none when no gain is left."""
        margin = self._worth - cost
        there = np.full(margin.size, -np.inf)
        there[self._columns] = margin[self._columns]
        starts = self._tunnels.pair_starts[:-1]
        # Less what a pair earns already with its demand on the best of its tunnels in the program.
        gain = margin - np.maximum(np.maximum.reduceat(there, starts), 0)[self._pair]
        gain[self._columns] = 0
        most = np.maximum.reduceat(gain, starts)[self._pair]
        missing = np.flatnonzero((gain >= most) & (gain > _ROUNDING))
        possible = gain[missing] * self._demand[self._pair[missing]]
        order = np.argsort(-possible, kind="stable")
        covered = np.cumsum(possible[order])
        enough = np.searchsorted(covered, _COVERED * covered[-1]) + 1 if covered.size else 0
        return np.sort(missing[order[:enough]])


def _bound(tunnels: TunnelLinks, capacity: Vector, demand: Vector, prices: Vector, cost: Vector) -> float:
    cheapest = np.minimum.reduceat(cost, tunnels.pair_starts[:-1])
    return float(capacity @ prices + demand @ np.maximum(1 - cheapest, 0))
