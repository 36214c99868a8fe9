"""The order of breaking and mending: no fault begins before another one that holds the same thing is mended."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from testbed.chaos.faults import SPARE_SECONDS, ChaosFault


@dataclass(frozen=True)
class AgendaStep:
    """A fault that is to begin, or to be mended, at a time in seconds."""

    at: float
    fault: ChaosFault
    begins: bool


class Agenda:
    """Steps of a run, earliest first; the run says when it has made one, as it may be late.

    Faults are drawn apart, but a run that is behind mends a fault late and would begin the next one before. What
    nobody mends meanwhile, since one thread does both, would then wait for itself.

    Args:
        faults: of the run.
        start: time from which those of the faults count.
    """

    def __init__(self, faults: Iterable[ChaosFault], start: float) -> None:
        self._order = itertools.count()
        self._due = [(start + fault.at, next(self._order), fault, True) for fault in faults]
        heapq.heapify(self._due)
        self._free_at: dict[tuple[str, ...], float] = {}

    def next_step(self) -> AgendaStep | None:
        """Return the next step, None after the last one; a fault waits for things that others hold."""
        while self._due:
            at, _, fault, begins = heapq.heappop(self._due)
            free_at = max((self._free_at.get(thing, at) for thing in fault.things), default=at)
            if not begins or free_at <= at:
                return AgendaStep(at, fault, begins)
            self._push(free_at, fault, begins=True)
        return None

    def began(self, fault: ChaosFault, now: float) -> None:
        """Note that a fault has begun: it is to be mended when its time is over."""
        self._push(now + fault.seconds, fault, begins=False)
        self._hold(fault, now + fault.seconds)

    def mended(self, fault: ChaosFault, now: float) -> None:
        """Note that a fault is mended, perhaps late: what it held is left alone for a while."""
        self._hold(fault, now)

    def _push(self, at: float, fault: ChaosFault, *, begins: bool) -> None:
        heapq.heappush(self._due, (at, next(self._order), fault, begins))

    def _hold(self, fault: ChaosFault, until: float) -> None:
        self._free_at.update(dict.fromkeys(fault.things, until + SPARE_SECONDS))
