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
"""Below this share of what its tunnel could carry alone, a rate is the solver's rounding (its tolerance is 1e-7)."""


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
    to keep its bounds exactly, is a solution of the second, and no throughput is given up. A penalty on hops inside
    one program would have to be either large enough to cost throughput or too small for the solver's tolerance.

    Args:
        incidence: T tunnels over L links for P pairs.
        capacity: Mbit/s of each link, shape (L,), positive.
        demand: Mbit/s of each pair, shape (P,), not negative.

    Raises:
        SolverError: HiGHS did not reach an optimum.
    """
    # A variable is the share of what its tunnel could carry alone, a row the share of its bound that is taken: the
    # solver's tolerances, which are absolute, then mean the same for a small link as for a large one.
    alone = np.minimum(_least(incidence.links, capacity), _least(incidence.pairs, demand))
    largest = alone.max() or 1.0
    shares = cp.Variable(alone.size, nonneg=True)
    rates = cp.multiply(alone / largest, shares)
    bounds = [
        _taken(incidence.links, capacity, alone) @ shares <= 1,
        _taken(incidence.pairs, demand, alone) @ shares <= 1,
    ]
    most_seconds = _solve(cp.Problem(cp.Maximize(cp.sum(rates)), bounds))
    most = _within_bounds(incidence, capacity, demand, _rates(alone, shares)).sum() / largest
    shortest = cp.Problem(cp.Minimize(incidence.hops @ rates), [*bounds, cp.sum(rates) >= most])
    shortest_seconds = _solve(shortest)
    exact = _within_bounds(incidence, capacity, demand, _rates(alone, shares))
    return Allocation(exact, f"HiGHS {version('highspy')}", most_seconds + shortest_seconds)


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


def _least(matrix: sp.csc_array, of_row: Vector) -> Vector:
    """For every column the least value among the rows that it has entries in; every column has some."""
    return np.asarray(np.minimum.reduceat(of_row[matrix.indices], matrix.indptr[:-1]))


def _taken(matrix: sp.csc_array, bound: Vector, alone: Vector) -> sp.csc_array:
    """The 0/1 matrix with each entry the share of its row's bound that its column takes; nothing of a bound of 0."""
    entry_alone, entry_bound = np.repeat(alone, np.diff(matrix.indptr)), bound[matrix.indices]
    taken = np.divide(entry_alone, entry_bound, out=np.zeros(matrix.nnz), where=entry_bound > 0)
    return sp.csc_array((taken, matrix.indices, matrix.indptr), shape=matrix.shape)


def _rates(alone: Vector, shares: cp.Variable) -> Vector:
    return np.asarray(alone * np.where(shares.value < _DUST, 0.0, shares.value))


def _within_bounds(incidence: Incidence, capacity: Vector, demand: Vector, rates: Vector) -> Vector:
    """The rates with what the solver's tolerance lets exceed a bound taken off: each shrunk by its worst excess."""
    load, sent = incidence.links @ rates, incidence.pairs @ rates
    link_share = np.divide(capacity, load, out=np.ones(load.shape), where=load > capacity)
    pair_share = np.divide(demand, sent, out=np.ones(sent.shape), where=sent > demand)
    return rates * np.minimum(_least(incidence.links, link_share), _least(incidence.pairs, pair_share))
