"""Fleischer's approximation: nearly the most throughput without a linear program, certified by a bound."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from te_solver.programs.highs import Indices
from te_solver.programs.incidence import Vector, least
from te_solver.programs.program import Allocation, Objective, Program, total
from te_solver.programs.settings import NumberSetting, Settings

_SOLVER = "none"


class Fleischer(Program):
    """The approximation scheme of Fleischer (Approximating fractional multicommodity flow independent of the number of
    commodities, SIAM Journal on Discrete Mathematics 13(4), 2000), after Garg and Könemann, over the given tunnels.

    Each link, and each demand as a link that all tunnels of its pair use, has a length, at first the same. Traffic is
    sent in turn on tunnels whose length is below a threshold that grows by 1 + e a round; what is sent lengthens its
    links, by the factor 1 + e where it fills them. After a round rates are divided by the worst excess. Weak duality
    gives a bound at any moment: the sum of capacities times lengths over the length of the shortest tunnel. The search
    ends once the rates reach 1 - `epsilon` of the least bound, which they do with e = epsilon / 3.
    """

    settings: ClassVar[Settings] = {"epsilon": NumberSetting(0.05, 0.0, 1.0, excluded="both")}

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        started = time.perf_counter()
        incidence = self.incidence
        usable = np.flatnonzero((least(incidence.links, room) > 0) & (demand[incidence.pair_of_tunnel] > 0))
        rates = np.zeros(incidence.hops.size)
        bound = 0.0
        if usable.size:
            rows = sp.vstack([incidence.links, incidence.pairs], format="csc")[:, usable]
            bounds = np.concatenate([room, demand])
            rates[usable], bound = _approximated(rows, bounds, incidence.pair_of_tunnel[usable], self.number("epsilon"))
        granted = np.minimum(incidence.pairs @ rates, demand)
        return Allocation(rates, granted, _SOLVER, time.perf_counter() - started, upper_bound=bound)


def _approximated(rows: sp.csc_array, bounds: Vector, pair: Indices, epsilon: float) -> tuple[Vector, float]:
    """Return the rates of columns within the bounds of rows, at least 1 - epsilon of the most, and an upper bound."""
    step = epsilon / 3
    used = np.unique(rows.indices)
    rows, bounds = rows[used], bounds[used]
    entries = [rows.indices[start:end] for start, end in pairwise(rows.indptr)]
    starts = np.unique(pair, return_index=True)[1]
    ends = np.append(starts[1:], pair.size)
    rates, bound = np.zeros(pair.size), np.inf
    # In units of the threshold: it is lengths that shrink between rounds, so that none grows beyond all numbers.
    length = np.full(bounds.size, 1 / min(map(len, entries)))
    while True:
        length /= 1 + step
        # Lengths only grow within a round: pairs without a short tunnel stay out of it.
        short = np.minimum.reduceat(rows.T @ length, starts) < 1
        for start, end in zip(starts[short].tolist(), ends[short].tolist(), strict=True):
            while True:
                lengths = [length[rows_of].sum() for rows_of in entries[start:end]]
                shortest = int(np.argmin(lengths))
                if lengths[shortest] >= 1:
                    break
                rows_of = entries[start + shortest]
                sent = bounds[rows_of].min()
                rates[start + shortest] += sent
                length[rows_of] *= 1 + step * sent / bounds[rows_of]
        bound = min(bound, float(bounds @ length / (rows.T @ length).min()))
        within = rates / (rows @ rates / bounds).max()
        if within.sum() >= (1 - epsilon) * bound:
            return within, bound


OBJECTIVE = Objective("fleischer", Fleischer, total, settings=Fleischer.settings, compiled=False)
