"""Maximum throughput in parts, for networks whose program is too large to solve as a whole."""

from __future__ import annotations

from kuijia_base.errors import UnsoundError
from kuijia_base.parallel import Progress
from te_solver.programs.highs import TITLE
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.partition import Partitioning, partitioned_throughput
from te_solver.programs.program import Allocation, Objective, Options, Program, total
from te_solver.programs.registry import MAX_THROUGHPUT
from te_solver.programs.scale import Scale
from te_solver.programs.solver import Solver
from te_solver.programs.tunnel_links import TunnelLinks


def in_parts(how: Partitioning, progress: Progress | None = None) -> Objective:
    """Return the objective of maximum throughput, nearly reached by `partitioned_throughput`.

    Its programs raise UnsoundError as `require_solvable_in_parts` does.
    """

    def program(incidence: Incidence, options: Options) -> Program:
        return _InParts(incidence, options, how, progress)

    return Objective(MAX_THROUGHPUT, program, total, partitioning=how)


def require_solvable_in_parts(options: Options) -> None:
    """Raise UnsoundError, whose `where` is `partitions`, for options that programs in parts do not support."""
    if options.spread:
        raise UnsoundError(("partitions",), "parts with traffic spread over all tunnels", "one or the other")
    if options.solver != Solver():
        raise UnsoundError(("partitions",), f"parts solved by {options.solver.name}", f"solver {Solver().name}")


class _InParts(Program):
    def __init__(self, incidence: Incidence, options: Options, how: Partitioning, progress: Progress | None) -> None:
        require_solvable_in_parts(options)
        super().__init__(incidence, options)
        self._how = how
        self._progress = progress

    def _compile(self, scale: Scale) -> None:
        del scale  # each part has its own
        self._tunnels = TunnelLinks.of(self.incidence)

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        optimum = partitioned_throughput(self._tunnels, room, demand, self._how, self._progress)
        return Allocation(optimum.rates, self._tunnels.sent(optimum.rates), TITLE, optimum.solve_seconds, optimum.bound)
