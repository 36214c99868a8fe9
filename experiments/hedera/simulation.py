"""Simulates a scheduler at work: flows come and go, counters are polled, elephants placed, in rounds."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from experiments.hedera.goodput import non_blocking, tcp_goodput
from hedera.fabric import HASHED, Fabric, Ints, Vector
from hedera.placement.ecmp import around_dead_links, hashed_labels
from hedera.placement.interface import Placement
from hedera.scheduling_round import ELEPHANT, place_by_demand


@dataclass(frozen=True, eq=False)
class Workload:
    """F flows.

    Attributes:
        source, target: hosts, shape (F,).
        start: when each begins, in seconds; rising.
        size: in bytes, infinite for flows without an end.
        at_once: where not zero, `start` does not count: each host sends its flows in their order, so many at a time.
    """

    source: Ints
    target: Ints
    start: Vector
    size: Vector
    at_once: int = 0

    @classmethod
    def endless(cls, source: Ints, target: Ints) -> Workload:
        """Flows that are there from the first moment on and stay."""
        return cls(source, target, np.zeros(source.size), np.full(source.size, np.inf))

    @property
    def flows(self) -> int:
        return int(self.source.size)


@dataclass(frozen=True)
class Setting:
    """How the scheduler works, and how finely time passes.

    Attributes:
        end: in seconds.
        period: from one round of the scheduler to the next.
        step: how long rates stand still at most while flows of some size are there; flows begin and end in between.
        seed: of the switches' hash.
        blocking: False for one large switch in place of the network.
        one_tree: whether what is not placed goes by one label, as over a spanning tree, instead of by a hash.
    """

    end: float = 60.0
    period: float = 5.0
    step: float = 0.05
    seed: int = 1
    blocking: bool = True
    one_tree: bool = False


@dataclass(eq=False)
class History:
    """What came of it.

    Attributes:
        times: from when on each of the following held, in seconds.
        goodput: of all flows together, in Mbit/s.
        finished: when each flow ended, in seconds; infinite for those that did not; shape (F,).
        moves: how many flows each round moved from the path that a round before had given them.
        elephants: how many flows each round has placed.
        end: of the simulation, in seconds.
    """

    times: list[float] = field(default_factory=list)
    goodput: list[float] = field(default_factory=list)
    finished: Vector = field(default_factory=lambda: np.empty(0))
    moves: list[int] = field(default_factory=list)
    elephants: list[int] = field(default_factory=list)
    end: float = 0.0

    def mean_goodput(self, begin: float, end: float) -> float:
        """Of all flows together between two times, in Mbit/s."""
        edges = np.clip(np.array([*self.times, self.end]), begin, end)
        return float(np.dot(np.diff(edges), self.goodput) / (end - begin))


class Simulation:
    """One run of one placement; `placement` may remember things, so that each run needs a new one."""

    def __init__(self, fabric: Fabric, placement: Placement, workload: Workload, setting: Setting) -> None:
        self._fabric, self._placement, self._workload, self._setting = fabric, placement, workload, setting
        self._capacity = fabric.capacity if setting.blocking else non_blocking(fabric)
        keys = np.arange(workload.flows, dtype=np.uint64)
        label = np.zeros(workload.flows, np.int32) if setting.one_tree else hashed_labels(fabric, keys, setting.seed)
        self._hash = around_dead_links(fabric, workload.source, workload.target, label, fabric.capacity)
        self._start = workload.start.copy()
        self._waiting: dict[int, deque[int]] = {}
        self._choice = np.full(workload.flows, HASHED, np.int32)
        self._left = workload.size.copy()
        self._polled = np.zeros(workload.flows)
        self._sent = np.zeros(workload.flows)

    def run(self) -> History:
        workload, setting = self._workload, self._setting
        history = History(finished=np.full(workload.flows, np.inf), end=setting.end)
        now, next_round = 0.0, setting.period
        active = self._first_turns()
        arrived = workload.flows if workload.at_once else 0
        rates = np.empty(0)
        stale = True
        while now < setting.end:
            begun = int(np.searchsorted(workload.start, now, side="right"))
            if begun > arrived:
                active = np.concatenate([active, np.arange(arrived, begun)])
                arrived, stale = begun, True
            if now >= next_round:
                self._round(active, now, history)
                next_round += setting.period
                stale = True
            if stale:
                rates = self._rates(active)
                history.times.append(now)
                history.goodput.append(float(rates.sum()))
                stale = False
            if not active.size and arrived == workload.flows:
                break
            until = self._until(now, next_round, arrived, rates, active)
            self._pass(active, rates, until - now)
            done = self._left[active] <= 0
            if done.any():
                ended = active[done]
                overshoot = -self._left[ended] * 8e-6 / rates[done]
                history.finished[ended] = np.maximum(until - overshoot, self._start[ended])
                active, stale = np.concatenate([active[~done], self._next_turns(ended, until)]), True
            now = until
        return history

    def _first_turns(self) -> NDArray[np.int64]:
        """The flows that hosts begin with which take turns; the others wait."""
        at_once = self._workload.at_once
        if not at_once:
            return np.empty(0, np.int64)
        for flow, source in enumerate(self._workload.source.tolist()):
            self._waiting.setdefault(source, deque()).append(flow)
        first = [queue.popleft() for queue in self._waiting.values() for _ in range(min(at_once, len(queue)))]
        self._start[:] = 0.0
        return np.array(first, np.int64)

    def _next_turns(self, ended: NDArray[np.int64], now: float) -> NDArray[np.int64]:
        queues = [self._waiting.get(source) for source in self._workload.source[ended].tolist()]
        begun = np.array([queue.popleft() for queue in queues if queue], np.int64)
        self._start[begun] = now
        return begun

    def _rates(self, active: NDArray[np.int64]) -> Vector:
        workload = self._workload
        label = np.where(self._choice[active] == HASHED, self._hash[active], self._choice[active])
        paths = self._fabric.flow_paths(workload.source[active], workload.target[active], label)
        return tcp_goodput(self._capacity, paths)

    def _until(self, now: float, next_round: float, arrived: int, rates: Vector, active: NDArray[np.int64]) -> float:
        """The next time at which something happens, or is looked at."""
        until = min(next_round, self._setting.end)
        if arrived < self._workload.flows:
            until = min(until, max(now + self._setting.step, float(self._workload.start[arrived])))
        if active.size:
            with np.errstate(divide="ignore", invalid="ignore"):
                first_end = float(np.min(self._left[active] * 8e-6 / rates, initial=np.inf))
            until = min(until, now + max(first_end, self._setting.step))
        return until

    def _pass(self, active: NDArray[np.int64], rates: Vector, seconds: float) -> None:
        passed = rates * (seconds * 1e6 / 8)
        self._left[active] -= passed
        self._sent[active] += passed

    def _round(self, active: NDArray[np.int64], now: float, history: History) -> None:
        """Poll counters, estimate what elephants would send, place them."""
        workload, fabric, period = self._workload, self._fabric, self._setting.period
        age = np.minimum(now - self._start[active], period)
        rate = (self._sent[active] - self._polled[active]) * 8e-6 / np.maximum(age, self._setting.step)
        self._polled[active] = self._sent[active]
        large = active[rate > ELEPHANT * fabric.nic_rate]
        source, target = workload.source[large], workload.target[large]
        before = self._choice[large]
        choice = place_by_demand(self._placement, fabric, source, target, before, fabric.capacity)
        moved = (before != HASHED) & (choice != HASHED)
        history.moves.append(int(_different_paths(fabric, source, target, before, choice)[moved].sum()))
        history.elephants.append(large.size)
        self._choice[active] = HASHED
        self._choice[large] = choice


def _different_paths(fabric: Fabric, source: Ints, target: Ints, before: Ints, after: Ints) -> NDArray[np.bool_]:
    """Which flows have other links under the labels after than under those before."""
    counted = np.maximum(before, 0), np.maximum(after, 0)
    old, new = (fabric.flow_paths(source, target, label) for label in counted)
    differ = np.concatenate([[0], np.cumsum(old.links != new.links)])
    found: NDArray[np.bool_] = differ[old.first[1:]] > differ[old.first[:-1]]
    return found
