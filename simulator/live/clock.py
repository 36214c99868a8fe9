"""The clock of a live model or a recording, and the log of its events."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from simulator.live.states import ClockState, LogEntry, LogKind

_KEPT = 5000


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
        """Set the speed, pause or resume, and jump to a time; None leaves each as it is."""
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


class LiveJournal:
    """Numbers entries from 1 on; its methods may be called by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: deque[LogEntry] = deque(maxlen=_KEPT)
        self._seq = 0

    def note(self, time: float, kind: LogKind, text: str, view: str | None = None, **subject: Any) -> None:  # noqa: ANN401  # JSON
        with self._lock:
            self._seq += 1
            self._entries.append(LogEntry(self._seq, round(time, 3), view, kind, text, subject))

    def after(self, seq: int) -> list[LogEntry]:
        with self._lock:
            return [entry for entry in self._entries if entry.seq > seq]
