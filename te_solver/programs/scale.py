"""The numbers a program is compiled for: they scale its variables and rows so that tolerances mean the same for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from te_solver.programs.incidence import Incidence, Vector, least

_REACH = 100.0
"""How far numbers may be from those that a program was compiled for before it is compiled anew."""


@dataclass(frozen=True)
class Scale:
    """What a program's variables and rows are measured in, all in Mbit/s and positive.

    A variable is the share of what its tunnel could carry alone, a row the share of its bound that is taken: the
    solver's tolerances, which are absolute, then mean the same for a small link as for a large one.

    Attributes:
        capacity: of each link, shape (L,).
        demand: of each pair, shape (P,).
        alone: what each tunnel could carry alone, shape (T,); no more than `unit`.
        most: what no pair's tunnels can carry more than, shape (P,).
        unit: what the tunnel that could carry most alone could carry.
    """

    capacity: Vector
    demand: Vector
    alone: Vector
    most: Vector
    unit: float

    @classmethod
    def of(cls, incidence: Incidence, capacity: Vector, demand: Vector) -> Scale:
        """What is zero scales nothing: it counts like the largest capacity, or like the most that any pair asks for.

        Tunnels that can carry nothing because of it are not taken for larger than the others.
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
        """Whether a program with this scale is as exact for these numbers as one that is compiled for them."""
        return _near(capacity, self.capacity) and _near(demand, self.demand)


def could_carry(incidence: Incidence, capacity: Vector, demand: Vector) -> Vector:
    """Mbit/s that each tunnel could carry alone, shape (T,): as much as its links do, and as its pair asks for."""
    return np.minimum(least(incidence.links, capacity), demand[incidence.pair_of_tunnel])


def _near(values: Vector, scale: Vector) -> bool:
    return bool(((values == 0) | ((values > scale / _REACH) & (values < scale * _REACH))).all())
