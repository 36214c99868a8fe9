"""Equi-depth bins: nearly max-min fair rates by one program, in which the first Mbit/s of a pair are worth the most."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from te_solver.programs.adaptive_waterfilling import waterfilled
from te_solver.programs.highs import TITLE
from te_solver.programs.incidence import Vector
from te_solver.programs.linear import Linear, TunnelShares
from te_solver.programs.program import Allocation, Objective, Program, total
from te_solver.programs.settings import NumberSetting, Settings

_ROUNDS = 10


class EquiDepthBins(Program):
    """The program of Namyar et al. (Solving max-min fair resource allocations quickly on large graphs, NSDI 2024,
    section 3.3).

    Adaptive waterfilling estimates each pair's fair rate. The quantiles of these rates divide what a pair may get into
    bins that end at about as many rates each. A Mbit/s in bin j is worth epsilon^j:

        maximise  sum(epsilon^j b_fj),  with sum(a_t for t of f) = sum(b_fj for j),  b_fj <= width of bin j

    so no pair gets more of a later bin by what another one loses of an earlier one, for a small epsilon. The last bin
    has no end.
    """

    settings: ClassVar[Settings] = {
        "bins": NumberSetting(8, 1, 32, whole=True),
        "epsilon": NumberSetting(0.3, 0.0, 1.0, excluded="both"),
    }

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        incidence, solver = self.incidence, self.options.solver
        shares = TunnelShares(incidence, room, demand)
        unit, most = shares.scale.unit, shares.scale.most
        widths = self._widths(incidence.pairs @ waterfilled(incidence, room, demand, _ROUNDS))
        program = Linear(solver)
        tunnels = program.variables(incidence.hops.size, caps=shares.caps)
        program.rows((tunnels, shares.load), at_most=shares.capacity)
        terms = [(tunnels, shares.sent)]
        for number, width in enumerate(widths):
            worth = self.number("epsilon") ** number * most / unit
            part = program.variables(demand.size, cost=-worth, caps=np.minimum(width / most, shares.demand))
            terms.append((part, sp.csc_array(-sp.identity(demand.size))))
        program.rows(*terms, at_least=0.0, at_most=0.0)
        program.rows((tunnels, shares.sent), at_most=shares.demand)
        found = program.solve()
        rates = shares.rates(tunnels.of(found.values))
        return Allocation(rates, np.minimum(incidence.pairs @ rates, demand), TITLE, found.seconds)

    def _widths(self, estimates: Vector) -> list[float]:
        """Return the width of each bin in Mbit/s, the last one infinite."""
        count = int(self.number("bins"))
        positive = estimates[estimates > 0]
        ends = np.unique(np.quantile(positive, np.arange(1, count) / count)) if positive.size else positive
        return [*np.diff([0.0, *ends]).tolist(), np.inf]


OBJECTIVE = Objective("equi-depth-bins", EquiDepthBins, total, settings=EquiDepthBins.settings, compiled=False)
