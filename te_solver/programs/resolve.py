"""Maximum throughput solved repeatedly over the same tunnels, directly on HiGHS; only capacities and demands change."""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp

from te_solver.programs.highs import TITLE, HighsProgram
from te_solver.programs.incidence import Incidence, Vector, least, within_bounds
from te_solver.programs.program import Allocation, Options
from te_solver.programs.registry import MAX_THROUGHPUT, find_objective

_TOLERANCE = 1e-9

_DUST = 1e-9
"""A rate below this share of what its tunnel could carry alone is the solver's rounding."""

_MANY_TUNNELS = 1000
_FEW_PAIRS = 0.25
"""With more tunnels, and less than this share of the pairs asking, a smaller program is worth its construction."""


def maximise_throughput(incidence: Incidence, capacity: Vector, demand: Vector) -> Allocation:
    """Return the tunnel rates of greatest sum within link capacities and pair demands; of several, the fewest hops.

    Args:
        incidence: T tunnels over L links for P pairs.
        capacity: Mbit/s of each link, shape (L,), not negative.
        demand: Mbit/s of each pair, shape (P,), not negative.

    Raises:
        SolverError: HiGHS did not reach an optimum.
    """
    return find_objective(MAX_THROUGHPUT).program(incidence, Options()).solve(capacity, demand)


class ThroughputResolver:
    """The programs of `te_solver.programs.max_throughput`, kept in HiGHS and solved for other bounds.

    The sum of rates is the same as there to one part in a million, and with `fewest_hops` so is sum(hops * rates). The
    first solution starts without a basis. Each later one starts from the basis of the first with the dual simplex
    algorithm, for which a basis stays good when only bounds change; so the solutions in between do not matter.

    Args:
        incidence: T tunnels over L links for P pairs, each tunnel over at least one link.
        fewest_hops: settle ties by a second program, which takes about as long as the first.
    """

    def __init__(self, incidence: Incidence, *, fewest_hops: bool = True) -> None:
        self.incidence = incidence
        tunnels_of_pair = np.diff(incidence.pairs.tocsr().indptr)
        # A pair's demand is a row of the program, or the cap of its only tunnel.
        self._in_rows = np.flatnonzero(tunnels_of_pair > 1)
        self._only = np.flatnonzero(tunnels_of_pair[incidence.pair_of_tunnel] == 1)
        rows = sp.vstack([incidence.links, incidence.pairs.tocsr()[self._in_rows]], format="csc")
        tunnels = incidence.hops.size
        self._most = HighsProgram(rows, -np.ones(tunnels), _TOLERANCE)
        self._shortest: HighsProgram | None = None
        if fewest_hops:
            total = sp.csc_array(np.ones((1, tunnels)))
            self._shortest = HighsProgram(sp.vstack([rows, total], format="csc"), incidence.hops, _TOLERANCE)

    def solve(self, capacity: Vector, demand: Vector) -> Allocation:
        """Return the tunnel rates of greatest sum within link capacities and pair demands.

        Args:
            capacity: Mbit/s of each link, shape (L,), not negative.
            demand: Mbit/s of each pair, shape (P,), not negative.

        Raises:
            SolverError: HiGHS did not reach an optimum.
        """
        started = time.perf_counter()
        links, pairs = self.incidence.links, self.incidence.pairs
        alone = np.minimum(least(links, capacity), demand[pairs.indices])
        unit = float(alone.max(initial=0.0)) or 1.0
        rates = self._shares(capacity, demand, unit) * unit
        rates[rates < _DUST * alone] = 0.0
        # Remove the excess over bounds that the solver's tolerance allows.
        rates = within_bounds(self.incidence, capacity, demand, rates)
        return Allocation(rates, pairs @ rates, TITLE, time.perf_counter() - started)

    def _shares(self, capacity: Vector, demand: Vector, unit: float) -> Vector:
        """Return the best rates as shares of the largest possible one, so that tolerances mean the same for all."""
        enough = self.incidence.hops.size  # no row exceeds the number of tunnels
        with np.errstate(over="ignore"):
            of_rows = np.minimum(np.concatenate([capacity, demand[self._in_rows]]) / unit, enough)
            of_only = np.minimum(demand[self.incidence.pairs.indices[self._only]] / unit, enough)
        free = np.full(of_rows.shape, -np.inf)
        self._most.bound_rows(free, of_rows)
        self._most.cap_columns(self._only, of_only)
        shares = self._most.solve(self._most.first_basis)
        if self._shortest is not None:
            self._shortest.bound_rows(np.append(free, shares.sum()), np.append(of_rows, np.inf))
            self._shortest.cap_columns(self._only, of_only)
            first = self._shortest.first_basis
            shares = self._shortest.solve(first or self._most.basis_with_row(), primal=first is None)
        return shares


def throughput_of_few(
    incidence: Incidence, capacity: Vector, demand: Vector, *, fewest_hops: bool = True
) -> Allocation:
    """Return what `ThroughputResolver` does, by a program without pairs that do not ask, dead tunnels, unused links.

    Raises:
        SolverError: HiGHS did not reach an optimum.
    """
    usable = np.flatnonzero((demand[incidence.pair_of_tunnel] > 0) & (least(incidence.links, capacity) > 0))
    links = incidence.links[:, usable]
    used = np.unique(links.indices)
    few = Incidence(
        sp.csc_array(links.tocsr()[used]),
        sp.csc_array(incidence.pairs.tocsr()[demand > 0][:, usable]),
        incidence.hops[usable],
        incidence.edge_of_link[used],
        tuple(incidence.ends[link] for link in used.tolist()),
        incidence.topology,
    )
    rates, seconds = np.zeros(incidence.hops.shape), 0.0
    if usable.size:
        found = ThroughputResolver(few, fewest_hops=fewest_hops).solve(capacity[used], demand[demand > 0])
        rates[usable], seconds = found.rates, found.solve_seconds
    return Allocation(rates, incidence.pairs @ rates, TITLE, seconds)


class WarmThroughput:
    """A solver for schemes that divides demands as `maximise_throughput` does, fast for repeated calls.

    It is warm for one `Incidence` at a time, the one of the last call. The first call decides between equally good
    answers from then on; a pickled copy, as in another process, starts from the same call. If only a few of very many
    pairs have a demand, a program of these alone is solved afresh: that is faster than a warm start for all pairs.

    Args:
        fewest_hops: see `ThroughputResolver`.
    """

    def __init__(self, *, fewest_hops: bool = True) -> None:
        self._fewest_hops = fewest_hops
        self._first: tuple[Incidence, Vector, Vector] | None = None
        self._resolver: ThroughputResolver | None = None

    def begin_with(self, incidence: Incidence, capacity: Vector, demand: Vector) -> None:
        """Take this problem for the first call; it is solved when a later one needs its answer, which may be never."""
        self._first = incidence, capacity.copy(), demand.copy()
        self._resolver = None

    def __call__(self, incidence: Incidence, capacity: Vector, demand: Vector, /) -> Allocation:
        """See `ThroughputResolver.solve`."""
        asking = np.flatnonzero(demand)
        if incidence.hops.size > _MANY_TUNNELS and asking.size < _FEW_PAIRS * demand.size:
            return throughput_of_few(incidence, capacity, demand, fewest_hops=self._fewest_hops)
        if self._first is None or self._first[0] is not incidence:
            self._first = incidence, capacity.copy(), demand.copy()
            self._resolver = ThroughputResolver(incidence, fewest_hops=self._fewest_hops)
        elif self._resolver is None:
            self._resolver = ThroughputResolver(incidence, fewest_hops=self._fewest_hops)
            self._resolver.solve(*self._first[1:])
        assert self._resolver is not None, "there is one whenever there was a first call"
        return self._resolver.solve(capacity, demand)

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the program in HiGHS."""
        return {**self.__dict__, "_resolver": None}
