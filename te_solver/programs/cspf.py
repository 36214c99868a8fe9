"""Constrained shortest path first: each demand whole on one tunnel with room for it, the shortest tunnels first."""

from __future__ import annotations

import numpy as np

from te_solver.programs.incidence import Vector
from te_solver.programs.program import Allocation, Objective, Program, total

_SOLVER = "none"


class ConstrainedShortestPathFirst(Program):
    """The greedy allocation of MPLS traffic engineering (Davie and Rekhter, MPLS, 2000), as NCFlow compares with.

    All tunnels are tried in the order of their hops, those of as many hops in the order of pairs. A tunnel is taken if
    its pair has none yet and each of its links has room for the whole demand.
    """

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        incidence = self.incidence
        left, rates = room.copy(), np.zeros(incidence.hops.size)
        placed = demand == 0
        pair = incidence.pair_of_tunnel
        for tunnel in np.argsort(incidence.hops, kind="stable").tolist():
            links, own = incidence.links_of_tunnel(tunnel), pair[tunnel]
            if not placed[own] and (left[links] >= demand[own]).all():
                left[links] -= demand[own]
                rates[tunnel] = demand[own]
                placed[own] = True
        return Allocation(rates, incidence.pairs @ rates, _SOLVER, 0.0)


OBJECTIVE = Objective("cspf", ConstrainedShortestPathFirst, total, compiled=False)
