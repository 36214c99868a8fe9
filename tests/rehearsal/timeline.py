"""Simulated time: actions in the order of their times."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random

Action = Callable[[], None]


class SimulatedTime:
    """Time that passes only from one action to the next.

    Attributes:
        now: seconds.
        random: source of all chance.
    """

    def __init__(self, random: Random) -> None:
        self.now = 1000.0
        self.random = random
        self._next: list[tuple[float, int, Action]] = []
        self._count = 0

    def after(self, delay: float, action: Action) -> None:
        self._count += 1
        heappush(self._next, (self.now + delay, self._count, action))

    def run_until(self, end: float) -> None:
        """Run the actions before `end`."""
        while self._next and self._next[0][0] <= end:
            self.now, _, action = heappop(self._next)
            action()
        self.now = end
