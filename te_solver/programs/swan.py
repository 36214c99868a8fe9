"""SWAN's max-min fairness: shares within a factor of the fair ones, in one program for each power of the factor."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from te_solver.programs.highs import TITLE
from te_solver.programs.incidence import Incidence, Vector, least
from te_solver.programs.linear import Linear, TunnelShares
from te_solver.programs.program import Allocation, Objective, Program, total
from te_solver.programs.settings import NumberSetting, Settings

_REACHED = 1e-6
"""Share of a level that a pair may lack, because of the solver's tolerance, and still rise."""

_HOPS_MATTER = 1e-4
"""Share of its rate that the longest tunnel is worth less than one without hops: shorter tunnels win ties."""


class Swan(Program):
    """The programs of geometrically growing levels (Hong et al., Achieving high utilization with software-driven WAN,
    SIGCOMM 2013, section 4.3).

    Step k finds the most throughput with min(d_f, alpha^(k-1) U) <= b_f <= min(d_f, alpha^k U) for each pair f that
    still rises. A pair that stays below its upper bound is fixed. U is a rate that all pairs can have at the same time.
    Each b_f is at least 1 / alpha of the max-min fair one, and at most alpha times it.
    """

    settings: ClassVar[Settings] = {"alpha": NumberSetting(2.0, 1.0, excluded="least")}

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        incidence, alpha = self.incidence, self.number("alpha")
        possible = incidence.pairs @ least(incidence.links, room)
        rising = (demand > 0) & (possible > 0)
        granted, rates = np.zeros(demand.size), np.zeros(incidence.hops.size)
        shares = TunnelShares(incidence, room, demand)
        level = _within_reach(incidence, room, demand, rising)
        seconds = 0.0
        while rising.any():
            upper = np.where(rising, np.minimum(demand, level), granted)
            program = Linear(self.options.solver)
            worth = shares.worth * (1 - _HOPS_MATTER * incidence.hops / incidence.hops.max())
            tunnels = program.variables(incidence.hops.size, cost=-worth, caps=shares.caps)
            program.rows((tunnels, shares.load), at_most=shares.capacity)
            most = shares.scale.most
            program.rows((tunnels, shares.sent), at_least=granted / most, at_most=np.maximum(upper, granted) / most)
            found = program.solve()
            seconds += found.seconds
            rates = shares.rates(tunnels.of(found.values))
            sent = incidence.pairs @ rates
            # What keeps all bounds exactly stays possible in all later programs.
            granted = np.minimum(sent, upper)
            rising &= (sent >= level * (1 - _REACHED)) & (demand > level)
            level *= alpha
        return Allocation(rates, np.minimum(incidence.pairs @ rates, demand), TITLE, seconds)


def _within_reach(incidence: Incidence, room: Vector, demand: Vector, asking: Vector) -> float:
    """Return a rate that all pairs that ask for as much can have at the same time, each on one of its tunnels."""
    used = ((incidence.links @ incidence.pairs.T.tocsc()) > 0) @ np.where(asking, 1.0, 0.0)
    of_tunnel = least(incidence.links, room / np.maximum(used, 1.0))
    best = np.maximum.reduceat(of_tunnel, incidence.pairs.tocsr().indptr[:-1])
    return float(np.minimum(best, demand)[np.asarray(asking, dtype=bool)].min(initial=np.inf))


OBJECTIVE = Objective("swan", Swan, total, settings=Swan.settings, compiled=False)
