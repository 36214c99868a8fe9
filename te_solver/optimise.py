"""Allocates rates to tunnels: linear programs in CVXPY over sparse incidence matrices, solved by HiGHS."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from te_solver.errors import SolverError
from te_solver.topology import Topology

Vector = NDArray[np.float64]

HIGHS_OPTIONS: dict[str, object] = {"solver": "simplex", "threads": 1, "random_seed": 0}
"""One thread of simplex: a vertex of the optimal set, and the same one every time."""

_DUST = 1e-9
"""Rates below this share of the unit they are counted in are the solver's rounding (its tolerance is 1e-7)."""


@dataclass(frozen=True)
class Incidence:
    """Which tunnel (column) uses which link and belongs to which pair (rows): 0/1 matrices, and the tunnels' hops."""

    links: sp.csc_array
    pairs: sp.csc_array
    hops: Vector

    @classmethod
    def of(cls, topology: Topology, tunnels: Sequence[Sequence[Sequence[str]]]) -> Incidence:
        """Rows in the order of the topology's links and of `tunnels`, which holds each pair's tunnels as node names.

        Columns count through the tunnels of the first pair, then of the second, and so on.
        """
        row_of = {link.ends: row for row, link in enumerate(topology.links)}
        paths = [path for of_pair in tunnels for path in of_pair]
        rows = [row_of[path[i], path[i + 1]] for path in paths for i in range(len(path) - 1)]
        hops = np.array([len(path) - 1 for path in paths], dtype=np.int64)
        sizes = np.array([len(of_pair) for of_pair in tunnels], dtype=np.int64)
        columns = np.arange(len(paths))
        links = sp.csc_array(
            (np.ones(len(rows)), (rows, np.repeat(columns, hops))), shape=(len(topology.links), len(paths))
        )
        pairs = sp.csc_array(
            (np.ones(len(paths)), (np.repeat(np.arange(len(tunnels)), sizes), columns)),
            shape=(len(tunnels), len(paths)),
        )
        return cls(links, pairs, hops.astype(np.float64))


@dataclass(frozen=True)
class Allocation:
    """Mbit/s for every tunnel, in column order, and how they were found."""

    rates: Vector
    solver: str
    solve_seconds: float


def maximise_throughput(incidence: Incidence, capacity: Vector, demand: Vector) -> Allocation:
    """The tunnel rates of greatest sum within link capacities and pair demands; of these, those of fewest hops.

    This is the program of the paper's offline TE (also FFC, SIGCOMM 2014, equations 1 to 4) with b_f, what pair f
    gets, written as the sum of the rates of its tunnels. Ties are settled by a second program, which minimises
    sum(hops * rates) while the sum of the rates stays where the first one brought it: the first one's answer, made
    to keep its bounds exactly, is a solution of the second, and no throughput is given up. A penalty on hops inside one program would have to be either large enough to
    cost throughput or too small for the solver's tolerance to see.

    Args:
        incidence: T tunnels over L links for P pairs.
        capacity: Mbit/s of each link, shape (L,), positive.
        demand: Mbit/s of each pair, shape (P,), not negative.

    Raises:
        SolverError: HiGHS did not reach an optimum.
    """
    # No bound matters beyond what all others together let through. The solver's tolerances are absolute, so rates
    # are counted in units of the largest bound on a link that is left.
    capacity, demand = np.minimum(capacity, demand.sum()), np.minimum(demand, capacity.sum())
    unit = float(capacity.max()) or 1.0
    capacity, demand = capacity / unit, demand / unit
    rates = cp.Variable(incidence.hops.size, nonneg=True)
    within_bounds = [incidence.links @ rates <= capacity, incidence.pairs @ rates <= demand]
    most_seconds = _solve(cp.Problem(cp.Maximize(cp.sum(rates)), within_bounds))
    most = _within_bounds(incidence, capacity, demand, rates.value).sum()
    shortest = cp.Problem(cp.Minimize(incidence.hops @ rates), [*within_bounds, cp.sum(rates) >= most])
    shortest_seconds = _solve(shortest)
    shares = _within_bounds(incidence, capacity, demand, rates.value)
    return Allocation(shares * unit, f"HiGHS {version('highspy')}", most_seconds + shortest_seconds)


def _solve(problem: cp.Problem) -> float:
    """Solves in place; returns the seconds spent in the solver."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of inaccurate solutions, which the status tells of
            problem.solve(solver=cp.HIGHS, highs_options=HIGHS_OPTIONS)
    except cp.SolverError as error:
        raise SolverError(f"HiGHS failed: {' '.join(str(error).split())}") from error
    if problem.status != cp.OPTIMAL:
        raise SolverError(f"HiGHS gave up with status {problem.status}, no plan was made")
    return float(problem.solver_stats.solve_time)


def _within_bounds(incidence: Incidence, capacity: Vector, demand: Vector, rates: Vector) -> Vector:
    """The rates without what the solver's tolerance let pass: dust is dropped, excess shrinks the tunnels it is on."""
    rates = np.where(rates < _DUST, 0.0, rates)
    load, sent = incidence.links @ rates, incidence.pairs @ rates
    link_share = np.divide(capacity, load, out=np.ones_like(load), where=load > capacity)
    pair_share = np.divide(demand, sent, out=np.ones_like(sent), where=sent > demand)
    worst_link = np.minimum.reduceat(link_share[incidence.links.indices], incidence.links.indptr[:-1])
    return np.asarray(rates * np.minimum(worst_link, pair_share[incidence.pairs.indices]))
