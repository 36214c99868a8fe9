"""Adaptive waterfilling: max-min fairness without a program, by filling tunnels with weights that adapt."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.program import Allocation, Objective, Program, total
from te_solver.programs.settings import NumberSetting, Settings

_SOLVER = "none"

_FULL = 1e-9
"""Share of its capacity by which a row counts as full."""


class AdaptiveWaterfilling(Program):
    """The multi-path waterfiller of Namyar et al. (Solving max-min fair resource allocations quickly on large graphs,
    NSDI 2024, section 3.1).

    Each tunnel is filled like a flow of its own, with its share of one as weight: all rates grow in proportion to
    weights, and a tunnel stops when one of its links, or its pair's demand, is full. Then each tunnel's weight becomes
    its share of what its pair got, and all is filled again, `rounds` times. Unlike equal weights, this does not favour
    pairs with many tunnels.
    """

    settings: ClassVar[Settings] = {"rounds": NumberSetting(10, 1, 1000, whole=True)}

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        rates = waterfilled(self.incidence, room, demand, int(self.number("rounds")))
        return Allocation(rates, np.minimum(self.incidence.pairs @ rates, demand), _SOLVER, 0.0)


def waterfilled(incidence: Incidence, room: Vector, demand: Vector, rounds: int) -> Vector:
    """Return the Mbit/s of each tunnel after some rounds."""
    rows = sp.vstack([incidence.links, incidence.pairs], format="csr")
    bounds = np.concatenate([room, demand])
    of_tunnel = incidence.pair_of_tunnel
    weight = 1 / np.asarray(incidence.pairs.sum(axis=1)).reshape(-1)[of_tunnel]
    rates = filled(rows, bounds, weight)
    for _ in range(rounds - 1):
        sent = (incidence.pairs @ rates)[of_tunnel]
        weight = np.divide(rates, sent, out=weight.copy(), where=sent > 0)
        rates = filled(rows, bounds, weight)
    return rates


def filled(rows: sp.csr_array, bounds: Vector, weight: Vector) -> Vector:
    """Return the weighted max-min fair rates of columns of which each uses some rows, all within the rows' bounds."""
    rates = np.zeros(weight.size)
    rising = weight > 0
    columns = rows.tocsc()
    left = bounds.astype(np.float64).copy()
    while rising.any():
        pull = rows @ np.where(rising, weight, 0.0)
        level = np.divide(left, pull, out=np.full(left.size, np.inf), where=pull > 0)
        step = max(float(level.min()), 0.0)
        grown = np.where(rising, weight * step, 0.0)
        rates += grown
        left -= rows @ grown
        full = (pull > 0) & ((left <= _FULL * bounds) | (level <= step))
        left[full] = 0.0
        rising &= np.asarray(columns.T @ np.where(full, 1.0, 0.0)) == 0
    return rates


OBJECTIVE = Objective(
    "adaptive-waterfilling", AdaptiveWaterfilling, total, settings=AdaptiveWaterfilling.settings, compiled=False
)
