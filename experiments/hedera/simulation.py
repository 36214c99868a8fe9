"""The flow model of a scheduler in rounds: TCP flows come and go, counters are polled, elephants are placed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hedera.network.fabric import HASHED, Fabric, Ints, Paths, Vector
from hedera.network.matrices import Matrix
from hedera.placement.interface import Placement
from hedera.placement.registry import hashed_labels
from hedera.placement.scheduling_round import ELEPHANT, place_by_demand
from simulator.flow.model import FluidFlows, share
from simulator.flow.timeline import Allowances, Ramp, Rise

_SLOPE, _OFFSET = 3.2, 1.41
"""Fitted to the authors' simulator without blocking: one flow on a host's cable gets .7833 of it, two .8715, three .910
(from the sums over rand0, rand1 and rand2)."""


def utilisation(flows: Vector) -> Vector:
    """Return the share of a link that this number of TCP flows uses together.

    A single flow halves its rate whenever it has filled the link. Of several flows only one does, so less stays unused:
    1 - 1 / (4 n) in the textbook, 1 - 1 / (3.2 n + 1.41) in the authors' simulator.
    """
    return 1 - 1 / (_SLOPE * flows + _OFFSET)


def tcp_goodput(capacity: Vector, paths: Paths, offered: Vector | float = np.inf) -> Vector:
    """Return the Mbit/s of each flow; `offered` is the rate that it could send."""
    crossing = np.bincount(paths.links, minlength=capacity.size)
    usable = np.where(crossing > 0, utilisation(crossing.astype(np.float64)), 1.0) * capacity
    return fair_rates(usable, paths, offered)


def fair_rates(capacity: Vector, paths: Paths, offered: Vector | float = np.inf) -> Vector:
    """Return the max-min fair Mbit/s of each flow, with links filled to their capacity."""
    count = paths.first.size - 1
    flows = FluidFlows(
        paths.first,
        paths.links,
        np.broadcast_to(np.asarray(offered, np.float64), count),
        np.zeros(count, np.int32),
        np.ones(count, np.bool_),
        np.ones(count),
    )
    return share(capacity, flows).goodput


def non_blocking(fabric: Fabric) -> Vector:
    """Return the capacities of the same network if only hosts' cables limited flows, as with one large switch."""
    return np.where(fabric.inner, fabric.hosts * fabric.nic_rate, fabric.capacity)


def reached_and_control(
    fabric: Fabric, paths: Paths, rates: Callable[[Vector, Paths], Vector] = tcp_goodput
) -> tuple[float, float]:
    """Return the goodput of all flows on these paths, and what it would be if nothing blocked, in Mbit/s."""
    return float(rates(fabric.capacity, paths).sum()), float(rates(non_blocking(fabric), paths).sum())


_STILL = 1e-9
"""Relative difference below which two rates count as equal."""


@dataclass(frozen=True, eq=False)
class FlowTrace:
    """F flows.

    Attributes:
        source, target: hosts, shape (F,).
        start: start of each flow in seconds, in rising order.
        size: in bytes, infinite for flows without an end.
        at_once: if not zero, `start` is ignored: each host sends its flows in order, this many at a time.
    """

    source: Ints
    target: Ints
    start: Vector
    size: Vector
    at_once: int = 0

    @classmethod
    def endless(cls, source: Ints, target: Ints) -> FlowTrace:
        """Return flows that exist from the start and never end."""
        return cls(source, target, np.zeros(source.size), np.full(source.size, np.inf))

    @property
    def flows(self) -> int:
        return int(self.source.size)


@dataclass(frozen=True)
class FluidSetting:
    """Parameters of the scheduler and the time step.

    Attributes:
        end: of the simulation, in seconds.
        period: seconds from one round of the scheduler to the next.
        step: longest time in seconds that rates stay constant while finite flows exist; flows begin and end in between.
        seed: of the switches' hash.
        blocking: False to replace the network by one large switch.
        host_part: share of its cable that a host sends and receives at most.
        unnoticed: seconds in which a poll misses a new flow.
        ramp: ramp of flows to their rates, with one round-trip time for all; None for rates at once.
    """

    end: float = 60.0
    period: float = 5.0
    step: float = 0.05
    seed: int = 1
    blocking: bool = True
    host_part: float = 1.0
    unnoticed: float = 0.0
    ramp: Ramp | None = None


@dataclass(eq=False)
class FluidHistory:
    """Results over time.

    Attributes:
        times: start in seconds of each of the following values.
        goodput: of all flows together, in Mbit/s.
        began, finished: times of each flow in seconds, infinite if it did not; shape (F,).
        moves: number of flows that each round moved from the path of an earlier round.
        elephants: number of flows that each round placed.
        end: of the simulation, in seconds.
    """

    began: Vector
    finished: Vector
    end: float
    times: list[float] = field(default_factory=list)
    goodput: list[float] = field(default_factory=list)
    moves: list[int] = field(default_factory=list)
    elephants: list[int] = field(default_factory=list)

    def mean_goodput(self, begin: float, end: float) -> float:
        """Return the mean goodput of all flows together between two times, in Mbit/s."""
        edges = np.clip(np.array([*self.times, self.end]), begin, end)
        return float(np.dot(np.diff(edges), self.goodput) / (end - begin))


@dataclass(frozen=True, eq=False)
class _Look:
    """A snapshot of the network: Mbit/s that flows could have sent at its end, and their rise to the rates they get."""

    could: Vector
    rise: Rise

    @property
    def is_still(self) -> bool:
        """True if the next snapshot would be the same, unless something happens."""
        return bool((self.rise.begin >= self.rise.top * (1 - _STILL)).all())


class FluidSimulation:
    """One run of one placement; each run needs a new `placement`, which may keep state.

    A flow that begins between two looks at the network gets its first rate from its beginning, and one that ends keeps
    its last rate until its end: the excess of the former over link capacities balances the deficit of the latter.

    Args:
        hashed: labels of shape (F,) for flows that are not placed; by default from a hash of each flow.
    """

    def __init__(
        self,
        fabric: Fabric,
        placement: Placement,
        workload: FlowTrace,
        setting: FluidSetting,
        hashed: Ints | None = None,
    ) -> None:
        self._fabric, self._placement, self._workload, self._setting = fabric, placement, workload, setting
        capacity = fabric.capacity if setting.blocking else non_blocking(fabric)
        self._capacity = np.where(fabric.inner, capacity, setting.host_part * capacity)
        keys = np.arange(workload.flows, dtype=np.uint64)
        self._hash = hashed_labels(fabric, keys, setting.seed) if hashed is None else hashed
        self._waiting: dict[int, deque[int]] = {}
        self._choice = np.full(workload.flows, HASHED, np.int32)
        self._since = workload.start.copy()
        self._left = workload.size * 8e-6
        self._sent = np.zeros(workload.flows)
        self._polled = np.zeros(workload.flows)
        self._allowances = None if setting.ramp is None else Allowances(setting.ramp, workload.flows)
        self._history = FluidHistory(workload.start.copy(), np.full(workload.flows, np.inf), setting.end)

    def run(self) -> FluidHistory:
        workload, setting, history = self._workload, self._setting, self._history
        now, next_round = 0.0, setting.period
        active = self._first_turns()
        arrived = workload.flows if workload.at_once else 0
        look = _Look(np.empty(0), Rise.none(np.empty(0)))
        has_changed = True
        while now < setting.end:
            begun = int(np.searchsorted(workload.start, now, side="right"))
            if begun > arrived:
                active = np.concatenate([active, np.arange(arrived, begun)])
                arrived, has_changed = begun, True
            if now >= next_round:
                self._round(active, now)
                next_round += setting.period
                has_changed = True
            if not active.size and arrived == workload.flows:
                history.times.append(now)
                history.goodput.append(0.0)
                break
            until = min(next_round, setting.end)
            if arrived < workload.flows:
                until = min(until, max(now + setting.step, float(workload.start[arrived])))
            if has_changed or not look.is_still:
                if self._allowances is not None:
                    until = min(until, now + setting.step)
                look = self._look(active, until, has_changed=has_changed)
            ends = self._since[active] + look.rise.seconds_for(self._left[active])
            until = min(until, max(float(np.min(ends, initial=np.inf)), now + setting.step))
            done = ends <= until
            self._pass(active, look, done, (now, until))
            has_changed = bool(done.any())
            if has_changed:
                ended = active[done]
                history.finished[ended] = ends[done]
                active = np.concatenate([active[~done], self._next_turns(ended)])
            now = until
        return history

    def _first_turns(self) -> NDArray[np.int64]:
        """Return the first flows of hosts that send in turns; the others wait."""
        at_once = self._workload.at_once
        if not at_once:
            return np.empty(0, np.int64)
        for flow, source in enumerate(self._workload.source.tolist()):
            self._waiting.setdefault(source, deque()).append(flow)
        first = [queue.popleft() for queue in self._waiting.values() for _ in range(min(at_once, len(queue)))]
        return self._begun(np.array(first, np.int64), np.zeros(len(first)))

    def _next_turns(self, ended: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the flows that replace the ended ones, each beginning when its predecessor ended."""
        follows = []
        for flow in ended.tolist():
            queue = self._waiting.get(int(self._workload.source[flow]))
            if queue:
                follows.append((queue.popleft(), flow))
        flows, before = np.array(follows, np.int64).reshape(-1, 2).T
        return self._begun(flows, self._history.finished[before])

    def _begun(self, flows: NDArray[np.int64], times: Vector) -> NDArray[np.int64]:
        self._since[flows] = self._history.began[flows] = times
        return flows

    def _look(self, active: NDArray[np.int64], until: float, *, has_changed: bool) -> _Look:
        """Return the rates until `until`, either at once or as they rise."""
        workload, allowances = self._workload, self._allowances
        label = np.where(self._choice[active] == HASHED, self._hash[active], self._choice[active])
        paths = self._fabric.flow_paths(workload.source[active], workload.target[active], label)
        if allowances is None:
            rates = tcp_goodput(self._capacity, paths)
            return _Look(rates, Rise.none(rates))
        if has_changed:
            allowances.lose(active, tcp_goodput(self._capacity, paths, allowances.now(active)))
        could = allowances.after(active, until - self._since[active])
        return _Look(could, allowances.rise(active, tcp_goodput(self._capacity, paths, could)))

    def _pass(
        self, active: NDArray[np.int64], look: _Look, done: NDArray[np.bool_], interval: tuple[float, float]
    ) -> None:
        begin, until = interval
        seconds = until - self._since[active]
        passed = np.where(done, self._left[active], look.rise.sent(seconds))
        if self._allowances is not None:
            self._allowances.advance(active, look.rise, seconds, look.could)
        self._left[active] -= passed
        self._sent[active] += passed
        self._since[active] = until
        self._history.times.append(begin)
        self._history.goodput.append(float(passed.sum()) / (until - begin))

    def _round(self, active: NDArray[np.int64], now: float) -> None:
        """Poll counters, estimate the demands of elephants, place them."""
        workload, fabric, setting, history = self._workload, self._fabric, self._setting, self._history
        age = now - history.began[active]
        rate = (self._sent[active] - self._polled[active]) / np.clip(age, setting.step, setting.period)
        self._polled[active] = self._sent[active]
        large = active[(rate > ELEPHANT * fabric.nic_rate) & (age >= setting.unnoticed)]
        source, target = workload.source[large], workload.target[large]
        before = self._choice[large]
        choice = place_by_demand(self._placement, fabric, source, target, before, fabric.capacity)
        moved = (before != HASHED) & (choice != HASHED)
        history.moves.append(int(_different_paths(fabric, source, target, before, choice)[moved].sum()))
        history.elephants.append(large.size)
        self._choice[active] = HASHED
        self._choice[large] = choice


def _different_paths(fabric: Fabric, source: Ints, target: Ints, before: Ints, after: Ints) -> NDArray[np.bool_]:
    """Return a mask of the flows whose links differ between the two labellings."""
    counted = np.maximum(before, 0), np.maximum(after, 0)
    old, new = (fabric.flow_paths(source, target, label) for label in counted)
    differ = np.concatenate([[0], np.cumsum(old.links != new.links)])
    found: NDArray[np.bool_] = differ[old.first[1:]] > differ[old.first[:-1]]
    return found


def endless_goodput(  # what a simulation takes, with a window
    fabric: Fabric,
    placement: Placement,
    matrix: Matrix,
    setting: FluidSetting,
    window: tuple[float, float],
    hashed: Ints | None = None,
) -> float:
    """Return the mean goodput of a matrix of endless flows between two times, in Mbit/s."""
    workload = FlowTrace.endless(matrix.source, matrix.target)
    return FluidSimulation(fabric, placement, workload, setting, hashed).run().mean_goodput(*window)
