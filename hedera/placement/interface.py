"""Interface of placements: elephants in, labels out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedera.network.fabric import HASHED, Fabric, Ints, Vector, crosses

_PARTS = 1 << 16
"""Parts of a host's interface; placements count in whole parts, so that sums are exact in any order."""

_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Elephants:
    """F large flows.

    Attributes:
        source, target: hosts, shape (F,).
        demand: Mbit/s that each would send if the network allowed it, shape (F,).
        choice: the previous label of each, or `HASHED`, shape (F,).
        priority: order of service under contention, lower numbers first as in the flow model; shape (F,).
    """

    source: Ints
    target: Ints
    demand: Vector
    choice: Ints
    priority: Ints

    @classmethod
    def of(cls, source: Ints, target: Ints, demand: Vector, choice: Ints | None = None) -> Elephants:
        """Return flows of one priority; they are new unless `choice` is given."""
        given = np.full(source.size, HASHED, np.int32) if choice is None else choice
        return cls(source, target, demand, given, np.zeros(source.size, np.int32))

    @property
    def size(self) -> int:
        return int(self.source.size)

    def choosing(self, choice: Ints) -> Elephants:
        """Return the same flows with these labels."""
        return replace(self, choice=choice)

    def some(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Elephants:
        """Return a selection of the flows."""
        return Elephants(
            self.source[which], self.target[which], self.demand[which], self.choice[which], self.priority[which]
        )


class Placement(ABC):
    """An algorithm that places elephants in each round of the scheduler; it may remember the round before.

    Attributes:
        name: the name by which users select it.
    """

    name: ClassVar[str]

    @abstractmethod
    def place(self, fabric: Fabric, flows: Elephants, capacity: Vector) -> Ints:
        """Return a label for each flow, or `HASHED`, shape (F,).

        `capacity` is the links' remaining Mbit/s for these flows, shape (L,), zero for dead links. No flow gets a label
        whose path has a dead link.
        """


def amounts(rates: Vector, fabric: Fabric) -> Ints:
    """Return rates as whole parts of a host's interface, rounded down so that three thirds still fit into one."""
    return np.floor(rates * (_PARTS / fabric.nic_rate) + _ROUNDING).astype(np.int32)


UNIT = float(_PARTS)
"""A whole interface in these parts."""


def without_dead_paths(fabric: Fabric, flows: Elephants, choice: Ints, capacity: Vector) -> Ints:
    """Return the choice, with `HASHED` for paths with a dead link."""
    dead = capacity <= 0
    placed = np.flatnonzero(choice != HASHED)
    if not dead.any() or not placed.size:
        return choice
    paths = fabric.flow_paths(flows.source[placed], flows.target[placed], choice[placed])
    living: Ints = choice.copy()
    living[placed[crosses(paths, dead)]] = HASHED
    return living
