"""Scale of a program: it measures variables and rows in units that give tolerances the same meaning for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from te_solver.programs.incidence import Incidence, Vector, least

_REACH = 100.0
"""Factor between numbers and those that a program was compiled for, beyond which it is compiled again."""


@dataclass(frozen=True)
class Scale:
    """Units of a program's variables and rows, all in Mbit/s and positive.

    A variable is the share of what its tunnel could carry alone, a row the used share of its bound: the solver's
    absolute tolerances then mean the same for a small link as for a large one.

    Attributes:
        capacity: capacity of each link, shape (L,).
        demand: demand of each pair, shape (P,).
        alone: rate that each tunnel could carry alone, shape (T,); no more than `unit`.
        most: upper bound of the rate of each pair's tunnels, shape (P,).
        unit: largest rate that a tunnel could carry alone.
    """

    capacity: Vector
    demand: Vector
    alone: Vector
    most: Vector
    unit: float

    @classmethod
    def of(cls, incidence: Incidence, capacity: Vector, demand: Vector) -> Scale:
        """Return the scale of these numbers; zeros count as the largest capacity, or as the largest relative demand.

        Tunnels that can carry nothing because of a zero are not counted as larger than the others.
        """
        unit = could_carry(incidence, capacity, demand).max(initial=0.0)
        capacity = np.where(capacity > 0, capacity, capacity.max(initial=0.0) or 1.0)
        bottleneck = least(incidence.links, capacity)
        possible = incidence.pairs @ bottleneck
        asked = np.divide(demand, possible, out=np.zeros(demand.shape), where=possible > 0).max(initial=0.0)
        demand = np.where(demand > 0, demand, possible * (asked or 1.0))
        alone = np.minimum(bottleneck, demand[incidence.pair_of_tunnel])
        unit = float(unit or alone.max(initial=0.0) or 1.0)
        alone = np.minimum(alone, unit)
        most = np.minimum(demand, incidence.pairs @ alone)
        return cls(
            capacity,
            demand,
            alone,
            most=np.where(most > 0, most, 1.0),  # a pair without tunnels
            unit=unit,
        )

    def suits(self, capacity: Vector, demand: Vector) -> bool:
        """Return True if a program with this scale is as exact for these numbers as one compiled for them."""
        return _near(capacity, self.capacity) and _near(demand, self.demand)


def could_carry(incidence: Incidence, capacity: Vector, demand: Vector) -> Vector:
    """Return the Mbit/s that each tunnel could carry alone, shape (T,), limited by its links and its pair's demand."""
    return np.minimum(least(incidence.links, capacity), demand[incidence.pair_of_tunnel])


def _near(values: Vector, scale: Vector) -> bool:
    return bool(((values == 0) | ((values > scale / _REACH) & (values < scale * _REACH))).all())
