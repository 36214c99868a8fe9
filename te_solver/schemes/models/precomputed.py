"""Precomputed weights: aboriginal traffic stays untouched, and a program places the victims in the spare capacity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from te_solver.model.failures import Failure
from te_solver.programs.resolve import maximise_throughput
from te_solver.schemes.models.interface import RateSolver
from te_solver.schemes.models.rerouting import Rerouting
from te_solver.schemes.models.traffic import PlannedTraffic
from te_solver.schemes.models.transport import rates_by_class, transported


@dataclass(frozen=True)
class Precomputed:
    """The yardstick of Zhang et al., Kuijia, section 4.2 and figure 4, after Suchara et al., SIGMETRICS 2011.

    The traffic of alive tunnels keeps its tunnel and rate. The traffic of a pair's failed tunnels is its demand in a
    program of greatest throughput over the pair's alive tunnels and the spare capacity. The excess is withheld at the
    ingress. Victims stay in the normal queue: they exceed no link.

    With several classes, victims of the first are placed first, then each class in the capacity that is left; none
    takes anything from traffic of any class whose tunnel is alive.

    Attributes:
        solver: solves the programs, one for each class with victims.
    """

    name: ClassVar[str] = "precomputed"
    plan_objective: ClassVar[str | None] = None

    solver: RateSolver = maximise_throughput

    def reroute(self, traffic: PlannedTraffic, failure: Failure) -> Rerouting:
        damage = traffic.damage(failure)
        kept = np.where(damage.alive, traffic.sent, 0.0)
        victims = traffic.tunnels.sums(traffic.sent - kept)
        left_over = np.where(damage.failed_links, 0.0, traffic.capacity - traffic.tunnels.incidence.links @ kept)
        placed = rates_by_class(self.solver, traffic, traffic.tunnels, left_over, victims)
        return transported(traffic, damage, kept + placed)
