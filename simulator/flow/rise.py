"""Flows that rise to a rate: the amount they send meanwhile, and the time that an amount takes, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simulator.flow.model import Vector

_MOST_DOUBLINGS = 900.0
"""Most doublings in one evaluation; a double holds no more."""


@dataclass(frozen=True, eq=False)
class Rise:
    """F flows that begin at one rate and rise to another: they double in each round trip, then climb steadily.

    Attributes:
        begin: initial Mbit/s, more than zero, shape (F,).
        threshold: Mbit/s up to which they double, shape (F,).
        top: Mbit/s at which they stay; no less than `begin`, shape (F,).
        round_trip: seconds in which they double.
        increase: Mbit/s by which they climb in a second, from the threshold on.
    """

    begin: Vector
    threshold: Vector
    top: Vector
    round_trip: float
    increase: float

    @classmethod
    def none(cls, rate: Vector) -> Rise:
        """Return flows that have their rates at once."""
        return cls(rate, rate, rate, 1.0, 1.0)

    def rates(self, seconds: Vector) -> Vector:
        """Return each flow's Mbit/s after its number of seconds, shape (F,)."""
        doubled = self.begin * 2 ** np.minimum(seconds / self.round_trip, _MOST_DOUBLINGS)
        climbed = self._corner + self.increase * np.maximum(seconds - self._doubling, 0.0)
        return np.minimum(np.where(doubled < self._corner, doubled, climbed), self.top)

    def sent(self, seconds: Vector) -> Vector:
        """Return the Mbit that each flow sends within its number of seconds, shape (F,)."""
        doubling = np.minimum(seconds, self._doubling)
        climbing = np.clip(seconds - self._doubling, 0.0, self._climbing)
        staying = np.maximum(seconds - self._doubling - self._climbing, 0.0)
        return (
            self.begin * self._unit * (2 ** (doubling / self.round_trip) - 1)
            + climbing * (self._corner + self.increase * climbing / 2)
            + staying * self.top
        )

    def seconds_for(self, megabits: Vector) -> Vector:
        """Return the seconds that each flow takes to send this much, shape (F,); infinite for flows without a rate."""
        of_doubling = (self._corner - self.begin) * self._unit
        of_climbing = self._climbing * (self._corner + self.top) / 2
        doubled = np.minimum(megabits, of_doubling)
        climbed = np.clip(megabits - of_doubling, 0.0, of_climbing)
        stayed = np.maximum(megabits - of_doubling - of_climbing, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            seconds = (
                self.round_trip * np.log2(1 + doubled / (self.begin * self._unit))
                # The solution of climbed = t (corner + increase t / 2) in the form without cancellation.
                + 2 * climbed / (self._corner + np.sqrt(self._corner**2 + 2 * self.increase * climbed))
                + stayed / self.top
            )
        return np.where(self.top > 0, seconds, np.inf)

    @property
    def _unit(self) -> float:
        """Seconds in which the rate grows by a factor of e while it doubles in each round trip."""
        return self.round_trip / math.log(2)

    @property
    def _corner(self) -> Vector:
        """Rate at which doubling ends."""
        return np.clip(self.threshold, self.begin, self.top)

    @property
    def _doubling(self) -> Vector:
        with np.errstate(invalid="ignore", divide="ignore"):
            folds = np.log2(self._corner / self.begin)
        return np.where(self._corner > self.begin, self.round_trip * folds, 0.0)

    @property
    def _climbing(self) -> Vector:
        return (self.top - self._corner) / self.increase
