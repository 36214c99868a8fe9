"""A clock for models: runs at a chosen speed, and can be held."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from testbed.web.backend import ClockState


class SimulatedClock:
    """Begins at 0 and runs in real time; `wall` gives the seconds that pass."""

    def __init__(self, wall: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._lock = threading.Lock()
        self._since, self._time = wall(), 0.0
        self._state = ClockState(1.0, paused=False)

    @property
    def state(self) -> ClockState:
        return self._state

    def now(self) -> float:
        with self._lock:
            return self._now()

    def set(self, speed: float | None, paused: bool | None, moment: float | None = None) -> None:  # noqa: FBT001  # as in SetClock
        """Set speed, hold or go on, and jump to a moment; None leaves each as it is."""
        with self._lock:
            self._time = self._now() if moment is None else moment
            self._since = self._wall()
            old = self._state
            self._state = ClockState(
                old.speed if speed is None else speed, paused=old.paused if paused is None else paused
            )

    def _now(self) -> float:
        if self._state.paused:
            return self._time
        return self._time + (self._wall() - self._since) * self._state.speed
