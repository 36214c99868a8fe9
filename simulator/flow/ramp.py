"""How fast elastic flows come to their share: slow start and additive increase, as rates instead of windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from simulator.flow.events import Stage
from simulator.flow.model import Flags, Flows, Vector, share

_DUST = 1e-9
"""A rate short of another by less than this share of it is the same."""

_BITS_PER_MEGABIT = 1e6


@dataclass(frozen=True, eq=False)
class Ramp:
    """TCP without its packets: what a flow could send (its allowance) grows and falls, the model says what it gets.

    Attributes:
        round_trip: seconds of each flow, or of all.
        segment: bytes of a full segment.
        initial_window: segments that a connection begins with (RFC 6928).
        backoff: the share that a flow keeps of what it gets when an event makes it lose packets; 0.5 is Reno's
            (RFC 5681), 0.7 CUBIC's (RFC 9438), 1 takes away the loss.
        timeout: seconds without any delivery after which a flow begins with slow start again; Linux waits at least 0.2.
        step: seconds between two looks at the network; a quarter of the shortest round trip by default.
    """

    round_trip: ArrayLike = 0.05
    segment: float = 1460.0
    initial_window: float = 10.0
    backoff: float = 0.5
    timeout: float = 0.2
    step: float | None = None

    def __post_init__(self) -> None:
        if not (np.asarray(self.round_trip) > 0).all():
            raise ValueError("a round trip that takes no time, expected more than 0 s")
        if not 0 < self.backoff <= 1:
            raise ValueError(f"a backoff of {self.backoff:g}, expected more than 0 and at most 1")
        if self.step is not None and not self.step > 0:
            raise ValueError(f"a step of {self.step:g} s, expected more than 0 s")

    @property
    def step_seconds(self) -> float:
        return float(np.min(self.round_trip)) / 4 if self.step is None else self.step


class Climb:
    """The state of F flows on their way: what each could send, and where its slow start ends.

    Args:
        ramp: how they climb.
        stage: the first stage, in which all have their share already.
    """

    def __init__(self, ramp: Ramp, stage: Stage) -> None:
        self._ramp = ramp
        self._allowance = share(stage.capacity, stage.flows).goodput.copy()
        self._before_silence = np.zeros(stage.flows.size)
        self._silent_since = np.full(stage.flows.size, -np.inf)
        self._threshold = np.where(self._allowance > 0, 0.0, np.inf)

    def enter(self, stage: Stage, steady: Vector) -> None:
        """What an event does at once: flows fall silent, speak again, or lose packets."""
        flows = stage.flows
        silent = flows.elastic & (steady <= 0)
        falls_silent = silent & (self._allowance > 0)
        self._before_silence[falls_silent] = self._allowance[falls_silent]
        self._silent_since[falls_silent] = stage.start
        self._allowance[silent] = 0.0
        self._speak(flows, stage.start, flows.elastic & (steady > 0) & (self._allowance <= 0))
        wanted = np.minimum(flows.offered, self._allowance)
        got = share(stage.capacity, self.offer(flows)).goodput
        losing = flows.elastic & (got < wanted * (1 - _DUST))
        self._allowance[losing] = self._ramp.backoff * got[losing]
        self._threshold[losing] = self._allowance[losing]

    def _speak(self, flows: Flows, now: float, speaking: Flags) -> None:
        in_time = speaking & (now - self._silent_since < self._ramp.timeout)
        anew = speaking & ~in_time
        self._allowance[in_time] = self._ramp.backoff * self._before_silence[in_time]
        self._threshold[in_time] = self._allowance[in_time]
        self._allowance[anew] = self._initial(flows)[anew]
        former = self._before_silence[anew] / 2  # RFC 5681, equation 4
        self._threshold[anew] = np.where(former > 0, former, np.inf)

    def offer(self, flows: Flows) -> Flows:
        """The flows with what they send now: elastic ones no more than they could, others all that they offer."""
        return flows.offering(np.where(flows.elastic, np.minimum(flows.offered, self._allowance), flows.offered))

    def grow(self, flows: Flows, got: Vector, seconds: float) -> None:
        """After a step in which flows `got` this much: those that the network held back stay there, all try more."""
        held_back = flows.elastic & (got < np.minimum(flows.offered, self._allowance) * (1 - _DUST))
        self._threshold[held_back] = np.minimum(self._threshold, got)[held_back]
        allowance = np.where(held_back, got, self._allowance)
        doubled = np.minimum(allowance * 2 ** (seconds / self._round_trip(flows)), self._threshold)
        increase = flows.weight * self._segment_rate(flows) / self._round_trip(flows)
        grown = np.where(allowance < self._threshold, doubled, allowance + increase * seconds)
        # A sender without more to send gains no allowance for it (RFC 7661).
        grown = np.minimum(grown, np.maximum(flows.offered, allowance))
        self._allowance = np.where(flows.elastic & (allowance > 0), grown, self._allowance)

    def settle(self, flows: Flows, aim: Vector) -> None:
        """Flows are where the stage leads them."""
        self._allowance = np.where(flows.elastic, aim, self._allowance)

    def _initial(self, flows: Flows) -> Vector:
        return flows.weight * self._ramp.initial_window * self._segment_rate(flows)

    def _segment_rate(self, flows: Flows) -> Vector:
        """Mbit/s of one segment for each round trip."""
        return self._ramp.segment * 8 / _BITS_PER_MEGABIT / self._round_trip(flows)

    def _round_trip(self, flows: Flows) -> Vector:
        return np.broadcast_to(np.asarray(self._ramp.round_trip, np.float64), flows.offered.shape)
