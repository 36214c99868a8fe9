"""Long work cut into short pieces, between which an event loop handles its events; pure, with the clock passed in."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SLICE = 0.01
"""Seconds of work after which events have their turn."""


class Chores:
    """Walks to be taken in order, each to its end, a few steps at a time; one thread may call this.

    Whatever is added while nothing is left is begun at once, so that short work is never put off.
    """

    def __init__(self, clock: Callable[[], float], wake: Callable[[], None]) -> None:
        """`wake` has `work` be called soon; it is called whenever something is left for that."""
        self._clock = clock
        self._wake = wake
        self._left: deque[Iterator[None]] = deque()
        self._is_working = False

    def add(self, walk: Iterator[None]) -> None:
        """Take a walk, after those that were added before."""
        self._left.append(walk)
        if len(self._left) == 1 and not self._is_working:
            self.work()

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Begin what is added in the block after its end: all of it has one slice, not each a slice of its own.

        It is begun only if nothing else is left, as that has had its slice or is about to.
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
        """Go on for a slice; every step, of which at least one is taken, has to be short itself."""
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


def at_once(walk: Iterator[None]) -> None:
    """Take a walk to its end."""
    deque(walk, maxlen=0)
