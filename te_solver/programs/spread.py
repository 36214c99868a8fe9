"""Second stage of `--spread`: divide the traffic of each pair over its tunnels as evenly as earlier stages allow."""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from te_solver.programs.incidence import Incidence
from te_solver.programs.tunnel_rates import TunnelRates


def most_even(rates: TunnelRates, kept: Sequence[cp.Constraint]) -> cp.Problem:
    """Return the problem that minimises the sum of the larger rate of each two tunnels of a pair (and of each tunnel).

    For rates a_1 >= a_2 >= ... >= a_n this sum is a_1 n + a_2 (n - 1) + ... + a_n: moving traffic from a larger rate
    to a smaller one lowers it, so at the optimum no more can be moved (an ordered weighted average, Ogryczak and
    Śliwiński, European Journal of Operational Research 148, 2003). Rates count as shares of the most that their pair
    could carry, so that small pairs are spread as evenly as large ones.

    Args:
        rates: the variables.
        kept: constraints that keep the results of earlier stages.
    """
    first, second = _couples(rates.incidence)
    scale = rates.scale
    of_pair = cp.multiply(scale.alone / scale.most[rates.incidence.pair_of_tunnel], rates.share)
    cost, constraints = cp.sum(of_pair), list(kept)
    if first.size:
        larger = cp.Variable(first.size)
        cost += cp.sum(larger)
        constraints += [larger >= _chosen(first, scale.alone.size) @ of_pair]
        constraints += [larger >= _chosen(second, scale.alone.size) @ of_pair]
    return cp.Problem(cp.Minimize(cost), constraints)


def _couples(incidence: Incidence) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each two tunnels of the same pair."""
    by_pair = sp.csr_array(incidence.pairs)
    couples = [
        (columns[i], columns[j])
        for columns in np.split(by_pair.indices, by_pair.indptr[1:-1])
        for i in range(len(columns))
        for j in range(i + 1, len(columns))
    ]
    first, second = np.array(couples, dtype=np.int64).reshape(-1, 2).T
    return first, second


def _chosen(columns: NDArray[np.int64], count: int) -> sp.csr_array:
    """Return the matrix that selects these of `count` entries."""
    return sp.csr_array((np.ones(columns.size), (np.arange(columns.size), columns)), shape=(columns.size, count))
