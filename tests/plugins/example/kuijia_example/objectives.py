"""The objective `half-full`: the most traffic that leaves half of every link free."""

from __future__ import annotations

from kuijia.te_solver.model.plan import Plan
from kuijia.te_solver.programs.incidence import Vector
from kuijia.te_solver.programs.max_throughput import MaxThroughput
from kuijia.te_solver.programs.program import Objective


class HalfFull(MaxThroughput):
    """The program of maximum throughput on links of half their capacity."""

    def _room(self, capacity: Vector, carried: Vector) -> Vector:
        return super()._room(capacity / 2, carried)


def _allocated(plan: Plan) -> float:
    return sum(pair.allocated for pair in plan.pairs)


HALF_FULL = Objective("half-full", HalfFull, _allocated)
