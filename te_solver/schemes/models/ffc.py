"""Forward fault correction: a plan with room for failures, and plain rescaling when they come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from te_solver.model.failures import Failure
from te_solver.programs.registry import FFC
from te_solver.schemes.models.rerouting import Rerouting
from te_solver.schemes.models.rescaling import Rescaling
from te_solver.schemes.models.traffic import PlannedTraffic


@dataclass(frozen=True)
class FfcModel:
    """Liu et al., Traffic engineering with forward fault correction, SIGCOMM 2014.

    The plan reserves a rate for each tunnel so that the tunnels of a pair that survive any k failed links have room for
    what the pair sends. Rescaling by the plan's weights then keeps every tunnel within its rate, hence every link
    within its capacity, as long as no more than k links fail.
    """

    name: ClassVar[str] = "ffc"
    plan_objective: ClassVar[str | None] = FFC

    def reroute(self, traffic: PlannedTraffic, failure: Failure) -> Rerouting:
        if traffic.plan.protected_failures == 0:
            raise ValueError(f"a plan of the objective {traffic.plan.objective}, which protects against no failure")
        return Rescaling().reroute(traffic, failure)
