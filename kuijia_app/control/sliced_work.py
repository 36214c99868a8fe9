"""Runs long work in slices, so that an event loop can handle events in between; pure, with the clock passed in."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SLICE = 0.004
"""Seconds of work before events have their turn."""


class SlicedWork:
    """Tasks that run in order, each to its end, a few steps at a time; only one thread may call this.

    A task is an iterator: each item is a step. A task added while no other is left starts at once, so short work is
    never put off.
    """

    def __init__(self, clock: Callable[[], float], wake: Callable[[], None]) -> None:
        """Start without tasks; `wake` is called whenever steps are left, and must make the owner call `work` soon."""
        self._clock = clock
        self._wake = wake
        self._left: deque[Iterator[None]] = deque()
        self._is_working = False

    def add(self, task: Iterator[None]) -> None:
        """Add a task after those that were added before."""
        self._left.append(task)
        if len(self._left) == 1 and not self._is_working:
            self.work()

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Start the tasks added in the block at its end: all share one slice.

        They start only if no other task is left; those have had their slice or are about to.
        """
        if self._is_working or self._left:
            yield
            return
        self._is_working = True
        try:
            yield
        finally:
            self._is_working = False
        self.work()

    def work(self) -> None:
        """Continue for a slice, by at least one step; every step must be short."""
        until = self._clock() + SLICE
        self._is_working = True
        try:
            while self._left:
                for _ in self._left[0]:
                    if self._clock() >= until:
                        return
                self._left.popleft()
                if self._clock() >= until:
                    return
        finally:
            self._is_working = False
            if self._left:
                self._wake()


def at_once(task: Iterator[None]) -> None:
    """Run a task to its end."""
    deque(task, maxlen=0)
