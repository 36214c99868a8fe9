"""The model of `drop-victims`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from kuijia.te_solver.model.failures import Failure
from kuijia.te_solver.schemes.models.rerouting import Moves, Rerouting, assemble
from kuijia.te_solver.schemes.models.traffic import PlannedTraffic


class DropVictims:
    """Keeps the traffic of alive tunnels where it is, and withholds all other traffic."""

    name: ClassVar[str] = "drop-victims"
    plan_objective: ClassVar[str | None] = None

    def reroute(self, traffic: PlannedTraffic, failure: Failure) -> Rerouting:
        damage = traffic.damage(failure)
        none = np.zeros(0, dtype=np.int64)
        victims = traffic.tunnels.sums(np.where(damage.alive, 0.0, traffic.sent))
        return assemble(traffic, damage, traffic.sent, Moves(none, none, np.zeros(0)), withheld=victims)
