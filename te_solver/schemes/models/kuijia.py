"""Kuijia: victims go to the alive tunnels by their original weights, in the queue that is served last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from te_solver.model.failures import Failure
from te_solver.schemes.models.rerouting import Rerouting, assemble
from te_solver.schemes.models.splits import Split, proportional
from te_solver.schemes.models.traffic import PlannedTraffic


@dataclass(frozen=True)
class Kuijia:
    """Zhang et al., Kuijia, section 4.2; with several classes of traffic section 4.3.

    Aboriginal traffic keeps its tunnels and its priority. Victims keep their rate, with a priority below all aboriginal
    traffic of their class and above the next class.

    Attributes:
        split: the division of victims; `splits.failover_order` is that of switches programmed in advance.
    """

    name: ClassVar[str] = "kuijia"
    plan_objective: ClassVar[str | None] = None

    split: Split = proportional

    def reroute(self, traffic: PlannedTraffic, failure: Failure) -> Rerouting:
        damage = traffic.damage(failure)
        return assemble(traffic, damage, traffic.sent, self.split(traffic, damage), demote_victims=True)
