"""What every placement is given, and what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedera.fabric import HASHED, Fabric, Ints, Vector, crosses

_PARTS = 1 << 16
"""Of a host's interface: placements count in these, so that sums are exact however they are made."""

_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Elephants:
    """F large flows.

    Attributes:
        source, target: hosts, shape (F,).
        demand: what each would send if the network let it, in Mbit/s, shape (F,).
        choice: the label that each has been given before, or `HASHED`, shape (F,).
        priority: who is served first where some have to give way: lower numbers, as in the flow model; shape (F,).
    """

    source: Ints
    target: Ints
    demand: Vector
    choice: Ints
    priority: Ints

    @classmethod
    def of(cls, source: Ints, target: Ints, demand: Vector, choice: Ints | None = None) -> Elephants:
        """Flows of one priority, that are new unless `choice` is given."""
        given = np.full(source.size, HASHED, np.int32) if choice is None else choice
        return cls(source, target, demand, given, np.zeros(source.size, np.int32))

    @property
    def size(self) -> int:
        return int(self.source.size)

    def choosing(self, choice: Ints) -> Elephants:
        """The same flows, placed like this."""
        return replace(self, choice=choice)

    def some(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Elephants:
        """Those of the flows."""
        return Elephants(
            self.source[which], self.target[which], self.demand[which], self.choice[which], self.priority[which]
        )


class Placement(ABC):
    """Decides in each round of the scheduler; may remember the round before.

    Attributes:
        name: as users ask for it.
    """

    name: ClassVar[str]

    @abstractmethod
    def place(self, fabric: Fabric, flows: Elephants, capacity: Vector) -> Ints:
        """A label for each flow, or `HASHED`, shape (F,).

        `capacity` is what links have left for these flows, in Mbit/s, shape (L,): zero for dead ones. No flow is left
        with a label whose path has a dead link.
        """


def amounts(rates: Vector, fabric: Fabric) -> Ints:
    """Rates as whole parts of a host's interface, rounded down: three thirds still fit into one."""
    return np.floor(rates * (_PARTS / fabric.nic_rate) + _ROUNDING).astype(np.int32)


UNIT = float(_PARTS)
"""What a whole interface is in these parts."""


def without_dead_paths(fabric: Fabric, flows: Elephants, choice: Ints, capacity: Vector) -> Ints:
    """The choice, but `HASHED` where a path has a dead link."""
    dead = capacity <= 0
    placed = np.flatnonzero(choice != HASHED)
    if not dead.any() or not placed.size:
        return choice
    paths = fabric.flow_paths(flows.source[placed], flows.target[placed], choice[placed])
    living: Ints = choice.copy()
    living[placed[crosses(paths, dead)]] = HASHED
    return living
