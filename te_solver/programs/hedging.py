"""Hedging: the least utilisation with traffic spread over so many tunnels that a wrong forecast does little harm."""

from __future__ import annotations

from operator import attrgetter
from typing import ClassVar

import numpy as np

from te_solver.programs.highs import TITLE
from te_solver.programs.incidence import Vector, least
from te_solver.programs.max_concurrent import least_utilisation
from te_solver.programs.program import Allocation, Objective, Program
from te_solver.programs.settings import NumberSetting, Settings


class Hedging(Program):
    """The program of the least U in which no tunnel takes more than its part of a pair's burst bandwidth.

    Poutievski et al., Jupiter evolving, SIGCOMM 2022, appendix B: with C_t the capacity of tunnel t and B the sum over
    the tunnels of its pair,

        sum(a_t for t of f) = d_f,  a_t <= d_f C_t / (B S),  load of each link <= U c_e

    With `spread` S = 1 each pair is divided in proportion to capacities, whatever the demands; near 0 nothing is
    hedged. All demand is carried; U may exceed one, and the load of more important traffic counts.
    """

    settings: ClassVar[Settings] = {"spread": NumberSetting(0.5, 0.0, 1.0, excluded="least")}

    def _room(self, capacity: Vector, carried: Vector) -> Vector:
        del carried  # it loads links without reducing the room: utilisation may exceed one
        return capacity

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        incidence = self.incidence
        of_tunnel = incidence.pair_of_tunnel
        bottleneck = np.where(demand[of_tunnel] > 0, least(incidence.links, room), 0.0)
        burst = (incidence.pairs @ bottleneck)[of_tunnel]
        part = np.divide(bottleneck, burst, out=np.zeros(burst.size), where=burst > 0)
        if not part.any():
            return Allocation(part, np.zeros(demand.size), TITLE, 0.0)
        most = np.minimum(part / self.number("spread"), 1.0)
        asked = np.where(incidence.pairs @ part > 0, demand, 0.0)
        shares, seconds = least_utilisation(incidence, room, asked, most, self.options.solver, carried)
        rates = shares * asked[of_tunnel]
        return Allocation(rates, incidence.pairs @ rates, TITLE, seconds)


_VALUE = attrgetter("maximum_utilisation")

OBJECTIVE = Objective("hedging", Hedging, _VALUE, settings=Hedging.settings, compiled=False, carries_all=True)
