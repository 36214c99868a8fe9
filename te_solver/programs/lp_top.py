"""LP-top: the largest demands may use all their tunnels, all others only the shortest."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.program import Allocation, Objective, Program, total
from te_solver.programs.resolve import ThroughputResolver
from te_solver.programs.settings import NumberSetting, Settings


class LpTop(Program):
    """The program of maximum throughput in which only the largest demands are split.

    A baseline of Abuzaid et al. (Contracting wide-area network topologies to solve flow problems quickly, NSDI 2021)
    and later work: few demands make most of the traffic, so a program with their tunnels, and one tunnel for each of
    the rest, is small and nearly as good. `share` is the part of the pairs, by number, that have all tunnels.
    """

    settings: ClassVar[Settings] = {"share": NumberSetting(0.1, 0.0, 1.0)}

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        incidence = self.incidence
        top = np.zeros(demand.size, dtype=bool)
        count = int(np.ceil(self.number("share") * np.count_nonzero(demand)))
        top[np.argsort(-demand, kind="stable")[:count]] = True
        used = np.union1d(np.flatnonzero(top[incidence.pair_of_tunnel]), incidence.shortest_tunnels)
        few = Incidence(
            incidence.links[:, used],
            incidence.pairs[:, used],
            incidence.hops[used],
            incidence.edge_of_link,
            incidence.ends,
            incidence.topology,
        )
        found = ThroughputResolver(few).solve(room, demand)
        rates = np.zeros(incidence.hops.size)
        rates[used] = found.rates
        return Allocation(rates, found.granted, found.solver, found.solve_seconds)


OBJECTIVE = Objective("lp-top", LpTop, total, settings=LpTop.settings, compiled=False)
