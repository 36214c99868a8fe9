"""Static splits: each pair's demand in the fixed shares of its paths, as ECMP and VLB send it."""

from __future__ import annotations

from operator import attrgetter

import numpy as np

from te_solver.programs.incidence import Vector, least
from te_solver.programs.program import Allocation, Objective, Program
from te_solver.programs.registry import STATIC_SPLITS

_SOLVER = "none"


class StaticSplits(Program):
    """The rates that the path choice's own shares give; equal shares where it has none. Utilisation may exceed one.

    Paths over links without capacity carry nothing; the others share what is theirs, in proportion.
    """

    def _room(self, capacity: Vector, carried: Vector) -> Vector:
        del carried
        return capacity

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried
        of_tunnel = self.incidence.pair_of_tunnel
        shares = np.ones(of_tunnel.size) if self.options.shares is None else self.options.shares
        alive = np.where(least(self.incidence.links, room) > 0, shares, 0.0)
        total = self.incidence.pairs @ alive
        part = np.divide(demand, total, out=np.zeros(demand.shape), where=total > 0)
        rates = alive * part[of_tunnel]
        return Allocation(rates, self.incidence.pairs @ rates, _SOLVER, 0.0)


OBJECTIVE = Objective(
    STATIC_SPLITS, StaticSplits, attrgetter("maximum_utilisation"), takes_shares=True, carries_all=True
)
