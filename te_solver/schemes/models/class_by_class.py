"""Programs that schemes solve after a failure: one for each class of traffic, in the capacity that is left."""

from __future__ import annotations

import numpy as np

from te_solver.programs.incidence import Vector
from te_solver.schemes.models.interface import RateSolver
from te_solver.schemes.models.traffic import PlannedTraffic, TunnelColumns

_DUST = 1e-9
"""Remaining capacity below this share of a link's is rounding."""


def rates_by_class(
    solver: RateSolver, traffic: PlannedTraffic, tunnels: TunnelColumns, capacity: Vector, demand: Vector
) -> Vector:
    """Return the Mbit/s of each tunnel, shape (C,); the most important class is solved first.

    A class without demand costs no program.

    Args:
        solver: divides the demand of one class over the tunnels.
        traffic: gives the class of each pair and the capacity of each link.
        tunnels: C tunnels.
        capacity: Mbit/s available on each link, shape (L,); zero on failed links. Negative values, on links that were
            overloaded before, count as zero.
        demand: Mbit/s that each pair asks for, shape (P,).
    """
    rates = np.zeros(tunnels.pair.size)
    for priority in traffic.classes:
        of_class = np.where(traffic.priority == priority, demand, 0.0)
        left = capacity - tunnels.incidence.links @ rates
        usable = np.where(left > _DUST * traffic.capacity, left, 0.0)
        if of_class.any() and usable.any():
            rates = rates + solver(tunnels.incidence, usable, of_class).rates
    return rates
