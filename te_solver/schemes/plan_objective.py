"""Traffic engineering anew by the objective of the plan, for other capacities or with other tunnels."""

from __future__ import annotations

import numpy as np

from te_solver.programs.incidence import Incidence, Vector, least
from te_solver.programs.program import Options, Program
from te_solver.programs.registry import MAX_THROUGHPUT, find_objective, is_objective
from te_solver.schemes.class_by_class import rates_by_class
from te_solver.schemes.interface import RateSolver
from te_solver.schemes.traffic import PlannedTraffic, TunnelColumns


class PlanObjective:
    """Rates of all demands by the objective of their plan; each program is compiled once for the tunnels of a plan.

    Args:
        throughput: solves maximum throughput, also for plans whose objective is not known here.
    """

    def __init__(self, throughput: RateSolver) -> None:
        self._throughput = throughput
        self._compiled: tuple[Incidence, Program] | None = None

    def rates(self, traffic: PlannedTraffic, tunnels: TunnelColumns, capacity: Vector) -> Vector:
        """Return the Mbit/s that each tunnel carries, shape (C,); the most important class is solved first.

        A pair without a live tunnel asks for nothing: objectives that must carry all demand could not be met.

        Args:
            traffic: the plan, and the demands, which are placed again.
            tunnels: C tunnels, the plan's or more.
            capacity: Mbit/s of each link, shape (L,), zero for failed ones.

        Raises:
            SolverError: the solver gave up.
        """
        if traffic.plan.objective == MAX_THROUGHPUT or not is_objective(traffic.plan.objective):
            return rates_by_class(self._throughput, traffic, tunnels, capacity, traffic.demand)
        program = self._program(traffic, tunnels.incidence)
        possible = tunnels.sums(least(tunnels.incidence.links, capacity))
        demand = np.where(possible > 0, traffic.demand, 0.0)
        carried, sent = np.zeros(capacity.size), np.zeros(tunnels.pair.size)
        for priority in traffic.classes:
            of_class = np.where(traffic.priority == priority, demand, 0.0)
            if of_class.any():
                found = program.solve(capacity, of_class, carried)
                carried = carried + tunnels.incidence.links @ found.rates
                # With protection a pair sends less than the rates that its tunnels reserve.
                reserved = tunnels.sums(found.rates)
                used = np.divide(found.granted, reserved, out=np.zeros(reserved.size), where=reserved > 0)
                sent = sent + found.rates * used[tunnels.pair]
        return sent

    def _program(self, traffic: PlannedTraffic, incidence: Incidence) -> Program:
        if self._compiled is None or self._compiled[0] is not incidence:
            plan = traffic.plan
            spread = plan.options is not None and plan.options.spread
            objective = find_objective(plan.objective)
            same = objective.takes_shares and incidence is traffic.tunnels.incidence
            shares = traffic.weight if same else None
            options = Options(spread=spread, protect=max(plan.protected_failures, 1), shares=shares)
            self._compiled = incidence, objective.program(incidence, options)
        return self._compiled[1]

    def __getstate__(self) -> dict[str, object]:
        """Return the state without compiled programs, which another process compiles for itself."""
        return {**self.__dict__, "_compiled": None}
