"""Goodput over time: the rates of flows in each stage between two events, at once or with a ramp."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.flow.events import Stage
from simulator.flow.model import Vector, share
from simulator.flow.ramp import Climb, Ramp

_SETTLED = 1e-3
"""Flows within this share of a stage's steady rate count as having reached it."""


@dataclass(frozen=True, eq=False)
class History:
    """The goodput of F flows in K intervals of time.

    Attributes:
        stages: the stages that make up the time.
        steady: Mbit/s that each flow would reach in each stage if the stage lasted, shape (stages, F).
        stage: the stage of each interval, as a position, shape (K,).
        start, end: times of each interval, in seconds, shape (K,).
        goodput: Mbit/s of each flow in each interval, shape (K, F).
    """

    stages: tuple[Stage, ...]
    steady: Vector
    stage: np.ndarray
    start: Vector
    end: Vector
    goodput: Vector

    def mean(self, start: float, end: float) -> Vector:
        """Mean goodput of each flow between two times, in Mbit/s, shape (F,)."""
        if not end > start:
            raise ValueError(f"from {start:g} to {end:g} s, expected an end after the start")
        overlap = np.clip(np.minimum(self.end, end) - np.maximum(self.start, start), 0.0, None)
        return np.asarray(overlap @ self.goodput / (end - start))


def play(stages: Sequence[Stage], ramp: Ramp | None = None) -> History:
    """Return the goodput of flows in each stage: their shares at once, or their approach to them with a ramp.

    With a ramp, flows have their shares at the beginning; each interval is a step of the ramp, and the last one of a
    stage begins when all flows have reached their steady rates.

    Raises:
        NoFixedPointError: the losses of inelastic flows do not settle.
    """
    steady = [share(stage.capacity, stage.flows).goodput for stage in stages]
    starts: list[float] = []
    rows: list[Vector] = []
    numbers: list[int] = []
    climb = Climb(ramp, stages[0]) if ramp is not None else None
    for number, (stage, aim) in enumerate(zip(stages, steady, strict=True)):
        taken = [(stage.start, aim)] if climb is None or ramp is None else _climbed(climb, ramp, stage, aim)
        starts += [start for start, _ in taken]
        rows += [row for _, row in taken]
        numbers += [number] * len(taken)
    ends = np.array([*starts[1:], stages[-1].end])
    return History(tuple(stages), np.array(steady), np.array(numbers), np.array(starts), ends, np.array(rows))


def _climbed(climb: Climb, ramp: Ramp, stage: Stage, aim: Vector) -> list[tuple[float, Vector]]:
    """Return the starts of a stage's intervals with the goodput in each."""
    climb.enter(stage, aim)
    found: list[tuple[float, Vector]] = []
    steps = max(1, math.ceil((stage.end - stage.start) / ramp.step_seconds - 1e-9))
    for step in range(steps):
        got = share(stage.capacity, climb.offer(stage.flows)).goodput
        start = stage.start + step * ramp.step_seconds
        if (np.abs(got - aim) <= _SETTLED * aim).all():
            climb.settle(stage.flows, aim)
            found.append((start, aim))
            break
        found.append((start, got))
        climb.grow(stage.flows, got, ramp.step_seconds)
    return found
