"""Demand pinning: small demands take their shortest tunnel, and only large ones are optimised."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from te_solver.programs.incidence import Vector
from te_solver.programs.program import Allocation, Objective, Program, total
from te_solver.programs.resolve import ThroughputResolver
from te_solver.programs.settings import NumberSetting, Settings


class DemandPinning(Program):
    """The heuristic that MetaOpt examines (Namyar et al., Minding the gap between fast heuristics and their optimal
    counterparts, HotNets 2022): demands of at most a threshold are pinned to the shortest tunnel, then the most
    throughput of the others is found in what is left.

    The threshold is `share` times the mean capacity of a link. In the paper a program with too many pinned demands has
    no solution; here those that do not fit get what their tunnel has left, in the order of the pairs.
    """

    settings: ClassVar[Settings] = {"share": NumberSetting(0.05, 0.0)}

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        incidence = self.incidence
        pinned = demand <= self.number("share") * float((room + carried).mean())
        shortest = incidence.shortest_tunnels
        left, rates = room.copy(), np.zeros(incidence.hops.size)
        for pair in np.flatnonzero(pinned & (demand > 0)).tolist():
            tunnel = shortest[pair]
            links = incidence.links_of_tunnel(tunnel)
            rates[tunnel] = min(demand[pair], left[links].min())
            left[links] -= rates[tunnel]
        others = ThroughputResolver(incidence).solve(np.maximum(left, 0.0), np.where(pinned, 0.0, demand))
        rates += others.rates
        return Allocation(rates, incidence.pairs @ rates, others.solver, others.solve_seconds)


OBJECTIVE = Objective("demand-pinning", DemandPinning, total, settings=DemandPinning.settings, compiled=False)
