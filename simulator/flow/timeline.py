"""Goodput over time: events, the stages between them, and elastic flows that ramp up to their share, in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.flow.model import Flags, FluidFlows, Vector, share


@dataclass(frozen=True)
class FlowArrives:
    """A flow begins; until its first arrival it offers nothing."""

    time: float
    flow: int


@dataclass(frozen=True)
class FlowEnds:
    """A flow offers nothing from now on."""

    time: float
    flow: int


@dataclass(frozen=True)
class LinksFail:
    """Links, as positions, carry nothing from now on; their flows lose everything until they are rerouted."""

    time: float
    links: tuple[int, ...]


@dataclass(frozen=True)
class LinksHeal:
    """Links have their capacity again."""

    time: float
    links: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class FlowsRerouted:
    """The flows get other paths, levels and rates: a failure was detected, or the controller has recomputed.

    `flows` are the same flows in the same order; absent ones (not yet arrived, or ended) stay absent.
    """

    time: float
    flows: FluidFlows
    cause: str = "rerouted"


Event: TypeAlias = FlowArrives | FlowEnds | LinksFail | LinksHeal | FlowsRerouted


@dataclass(frozen=True, eq=False)
class Stage:
    """An interval in which nothing changes.

    Attributes:
        start, end: times in seconds.
        name: the event that it began with.
        capacity: Mbit/s of each link, zero for failed ones, shape (L,).
        flows: all flows of the network; absent ones offer zero.
    """

    start: float
    end: float
    name: str
    capacity: Vector
    flows: FluidFlows


def stages(capacity: Vector, flows: FluidFlows, events: Sequence[Event], end: float) -> tuple[Stage, ...]:
    """Return the stages from time 0 to `end`; events of the same time happen together, in the order given.

    Raises:
        ValueError: an event is not between 0 and `end`, or names a flow or link that does not exist.
    """
    for event in events:
        _require_sound(event, capacity.size, flows, end)
    present = np.ones(flows.size, dtype=np.bool_)
    present[[event.flow for event in events if isinstance(event, FlowArrives)]] = False
    failed = np.zeros(capacity.size, dtype=np.bool_)
    found: list[Stage] = []
    start, name = 0.0, "start"
    for event in sorted(events, key=lambda event: event.time):
        if event.time > start:
            found.append(_stage(start, event.time, name, (capacity, failed), (flows, present)))
            start, name = event.time, _name(event)
        elif start > 0:
            name = f"{name}, {_name(event)}"
        if isinstance(event, FlowsRerouted):
            flows = event.flows
        elif isinstance(event, FlowArrives | FlowEnds):
            present[event.flow] = isinstance(event, FlowArrives)
        else:
            failed[list(event.links)] = isinstance(event, LinksFail)
    if end > start or not found:
        found.append(_stage(start, end, name, (capacity, failed), (flows, present)))
    return tuple(found)


def _stage(
    start: float, end: float, name: str, links: tuple[Vector, np.ndarray], traffic: tuple[FluidFlows, np.ndarray]
) -> Stage:
    capacity, failed = links
    flows, present = traffic
    return Stage(
        start,
        end,
        name,
        np.where(failed, 0.0, capacity),
        flows.offering(np.where(present, flows.offered, 0.0)),
    )


def _name(event: Event) -> str:
    if isinstance(event, FlowsRerouted):
        return event.cause
    if isinstance(event, FlowArrives | FlowEnds):
        return f"flow {event.flow} {'arrives' if isinstance(event, FlowArrives) else 'ends'}"
    return f"links {'fail' if isinstance(event, LinksFail) else 'heal'}"


def _require_sound(event: Event, links: int, flows: FluidFlows, end: float) -> None:
    if not (math.isfinite(event.time) and 0 <= event.time <= end):
        raise ValueError(f"an event at {event.time:g} s, expected one between 0 and {end:g} s")
    if isinstance(event, FlowsRerouted):
        if event.flows.size != flows.size:
            raise ValueError(f"{event.flows.size} flows rerouted, expected the same {flows.size} flows")
        return
    things, size = ("flow", flows.size) if isinstance(event, FlowArrives | FlowEnds) else ("link", links)
    named = (event.flow,) if isinstance(event, FlowArrives | FlowEnds) else event.links
    for number in named:
        if not 0 <= number < size:
            raise ValueError(f"an event of {things} {number}, expected one of 0 to {size - 1}")


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


_DUST = 1e-9
"""Rates count as equal when one falls short of the other by less than this share."""

_BITS_PER_MEGABIT = 1e6


@dataclass(frozen=True, eq=False)
class Ramp:
    """TCP without packets: a flow's allowance (what it could send) grows and falls; the model returns what it gets.

    Attributes:
        round_trip: seconds, for each flow or for all.
        segment: bytes of a full segment.
        initial_window: segments in a connection's initial window (RFC 6928).
        backoff: the share of its goodput that a flow keeps when an event makes it lose packets; 0.5 is Reno's
            (RFC 5681), 0.7 CUBIC's (RFC 9438), 1 ignores the loss.
        timeout: seconds without any delivery after which a flow restarts with slow start; Linux waits at least 0.2.
        step: seconds between two evaluations of the network; a quarter of the shortest round trip by default.
    """

    round_trip: ArrayLike = 0.05
    segment: float = 1460.0
    initial_window: float = 10.0
    backoff: float = 0.5
    timeout: float = 0.2
    step: float | None = None

    def __post_init__(self) -> None:
        if not (np.asarray(self.round_trip) > 0).all():
            raise ValueError("a round trip is not positive, expected more than 0 s")
        if not 0 < self.backoff <= 1:
            raise ValueError(f"a backoff of {self.backoff:g}, expected more than 0 and at most 1")
        if self.step is not None and not self.step > 0:
            raise ValueError(f"a step of {self.step:g} s, expected more than 0 s")

    @property
    def step_seconds(self) -> float:
        return float(np.min(self.round_trip)) / 4 if self.step is None else self.step

    @property
    def segment_rate(self) -> Vector:
        """Mbit/s of one segment for each round trip, for each flow, or for all, shape ()."""
        return self.segment * 8 / _BITS_PER_MEGABIT / np.asarray(self.round_trip, np.float64)


class Climb:
    """The state of F flows on a ramp: what each could send, and where its slow start ends.

    Args:
        ramp: the parameters of the ramp.
        stage: the first stage; all flows already have their share in it.
    """

    def __init__(self, ramp: Ramp, stage: Stage) -> None:
        self._ramp = ramp
        self._allowance = share(stage.capacity, stage.flows).goodput.copy()
        self._before_silence = np.zeros(stage.flows.size)
        self._silent_since = np.full(stage.flows.size, -np.inf)
        self._threshold = np.where(self._allowance > 0, 0.0, np.inf)

    def enter(self, stage: Stage, steady: Vector) -> None:
        """Apply an event: stop or resume flows, or make them back off after a loss."""
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

    def _speak(self, flows: FluidFlows, now: float, speaking: Flags) -> None:
        in_time = speaking & (now - self._silent_since < self._ramp.timeout)
        anew = speaking & ~in_time
        self._allowance[in_time] = self._ramp.backoff * self._before_silence[in_time]
        self._threshold[in_time] = self._allowance[in_time]
        self._allowance[anew] = self._initial(flows)[anew]
        former = self._before_silence[anew] / 2  # RFC 5681, equation 4
        self._threshold[anew] = np.where(former > 0, former, np.inf)

    def offer(self, flows: FluidFlows) -> FluidFlows:
        """Return the flows at their present rates: elastic ones within their allowance, others at their full offer."""
        return flows.offering(np.where(flows.elastic, np.minimum(flows.offered, self._allowance), flows.offered))

    def grow(self, flows: FluidFlows, got: Vector, seconds: float) -> None:
        """Raise the allowances after a step in which flows `got` this much, from `got` for those held back."""
        held_back = flows.elastic & (got < np.minimum(flows.offered, self._allowance) * (1 - _DUST))
        self._threshold[held_back] = np.minimum(self._threshold, got)[held_back]
        allowance = np.where(held_back, got, self._allowance)
        doubled = np.minimum(allowance * 2 ** (seconds / self._round_trip(flows)), self._threshold)
        increase = flows.weight * self._segment_rate(flows) / self._round_trip(flows)
        grown = np.where(allowance < self._threshold, doubled, allowance + increase * seconds)
        # A sender that has no more to send does not raise its allowance (RFC 7661).
        grown = np.minimum(grown, np.maximum(flows.offered, allowance))
        self._allowance = np.where(flows.elastic & (allowance > 0), grown, self._allowance)

    def settle(self, flows: FluidFlows, aim: Vector) -> None:
        """Set the allowances of elastic flows to what the stage leads them to."""
        self._allowance = np.where(flows.elastic, aim, self._allowance)

    def _initial(self, flows: FluidFlows) -> Vector:
        return flows.weight * self._ramp.initial_window * self._segment_rate(flows)

    def _segment_rate(self, flows: FluidFlows) -> Vector:
        return np.broadcast_to(self._ramp.segment_rate, flows.offered.shape)

    def _round_trip(self, flows: FluidFlows) -> Vector:
        return np.broadcast_to(np.asarray(self._ramp.round_trip, np.float64), flows.offered.shape)


class Allowances:
    """The allowances of F flows that come and go; between two evaluations of the network they rise in closed form.

    A step may thus be much longer than a round trip. The shares of flows are evaluated with their allowances at the end
    of each step, and after an event also with those at its beginning.

    Args:
        ramp: the parameters of the ramp; one round trip for all flows, one connection each.
    """

    def __init__(self, ramp: Ramp, flows: int) -> None:
        self._ramp = ramp
        self._round_trip = float(np.asarray(ramp.round_trip))
        self._increase = float(ramp.segment_rate) / self._round_trip
        self._rate = np.full(flows, ramp.initial_window * float(ramp.segment_rate))
        self._threshold = np.full(flows, np.inf)

    def now(self, flows: NDArray[np.int64]) -> Vector:
        """Return Mbit/s of these flows; an initial window for each round trip for those that have just begun."""
        return self._rate[flows]

    def after(self, flows: NDArray[np.int64], seconds: Vector) -> Vector:
        """Return Mbit/s that the flows could send after these seconds if nothing held them back."""
        return self.rise(flows, np.full(flows.size, np.inf)).rates(seconds)

    def lose(self, flows: NDArray[np.int64], got: Vector) -> None:
        """Apply the loss at an event: flows that get less than they could send back off."""
        losing = got < self._rate[flows] * (1 - _DUST)
        self._rate[flows[losing]] = self._threshold[flows[losing]] = self._ramp.backoff * got[losing]

    def rise(self, flows: NDArray[np.int64], got: Vector) -> Rise:
        """Return the rise from the flows' present rates to what the network gives them."""
        begin = np.minimum(self._rate[flows], got)
        return Rise(begin, self._threshold[flows], got, self._round_trip, self._increase)

    def advance(self, flows: NDArray[np.int64], rise: Rise, seconds: Vector, could: Vector) -> None:
        """Let the flows rise for these seconds; end the slow start of those that reach the top and could send more."""
        self._rate[flows] = rise.rates(seconds)
        held_back = (self._rate[flows] >= rise.top) & (rise.top < could * (1 - _DUST))
        self._threshold[flows[held_back]] = np.minimum(self._threshold[flows], rise.top)[held_back]


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
