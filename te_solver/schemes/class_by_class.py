"""The programs that schemes solve after a failure: one for each class of traffic, in what those before leave."""

from __future__ import annotations

import numpy as np

from te_solver.programs.incidence import Vector
from te_solver.schemes.interface import RateSolver
from te_solver.schemes.traffic import PlannedTraffic, TunnelColumns

_DUST = 1e-9
"""Capacity below this share of a link's is what rounding leaves of a full link."""


def rates_by_class(
    solver: RateSolver, traffic: PlannedTraffic, tunnels: TunnelColumns, capacity: Vector, demand: Vector
) -> Vector:
    """Mbit/s of each tunnel, shape (C,), most important class first; a class without demand costs no program.

    Args:
        solver: divides the demand of one class over the tunnels.
        traffic: tells the class of each pair and the size of each link.
        tunnels: C tunnels.
        capacity: Mbit/s that each link has for this, shape (L,); nothing on failed links, and what is below zero on a
            link that was overloaded before counts as nothing.
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
