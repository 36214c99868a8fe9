"""How fast elastic flows come to their share: slow start and additive increase, as rates instead of windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.flow.events import Stage
from simulator.flow.model import Flags, Flows, Vector, share
from simulator.flow.rise import Rise

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

    @property
    def segment_rate(self) -> Vector:
        """Mbit/s of one segment for each round trip, of each flow, or of all, shape ()."""
        return self.segment * 8 / _BITS_PER_MEGABIT / np.asarray(self.round_trip, np.float64)


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
        return np.broadcast_to(self._ramp.segment_rate, flows.offered.shape)

    def _round_trip(self, flows: Flows) -> Vector:
        return np.broadcast_to(np.asarray(self._ramp.round_trip, np.float64), flows.offered.shape)


class Allowances:
    """What each of F flows that come and go could send; between two looks at the network they rise in closed form.

    A step may thus be much longer than a round trip. What flows get is asked for twice in a step: where something has
    happened, with what they could send at its beginning, and in any case with what they could send at its end.

    Args:
        ramp: how they climb; one round trip for all of them, one connection each.
        flows: how many there are.
    """

    def __init__(self, ramp: Ramp, flows: int) -> None:
        self._ramp = ramp
        self._round_trip = float(np.asarray(ramp.round_trip))
        self._increase = float(ramp.segment_rate) / self._round_trip
        self._rate = np.full(flows, ramp.initial_window * float(ramp.segment_rate))
        self._threshold = np.full(flows, np.inf)

    def now(self, flows: NDArray[np.int64]) -> Vector:
        """Mbit/s of these flows; ten segments for each round trip of those that have just begun."""
        return self._rate[flows]

    def after(self, flows: NDArray[np.int64], seconds: Vector) -> Vector:
        """Mbit/s that they could send after so long, if nothing held them back."""
        return self.rise(flows, np.full(flows.size, np.inf)).rates(seconds)

    def lose(self, flows: NDArray[np.int64], got: Vector) -> None:
        """An event: those that get less than they could send lose packets."""
        losing = got < self._rate[flows] * (1 - _DUST)
        self._rate[flows[losing]] = self._threshold[flows[losing]] = self._ramp.backoff * got[losing]

    def rise(self, flows: NDArray[np.int64], got: Vector) -> Rise:
        """From what they send now to what the network gives them."""
        begin = np.minimum(self._rate[flows], got)
        return Rise(begin, self._threshold[flows], got, self._round_trip, self._increase)

    def advance(self, flows: NDArray[np.int64], rise: Rise, seconds: Vector, could: Vector) -> None:
        """They have risen for so long; the slow start is over of those that came to the top and could send more."""
        self._rate[flows] = rise.rates(seconds)
        held_back = (self._rate[flows] >= rise.top) & (rise.top < could * (1 - _DUST))
        self._threshold[flows[held_back]] = np.minimum(self._threshold[flows], rise.top)[held_back]
