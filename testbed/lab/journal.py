"""The events of a lab in their order, numbered from 1; several threads may add to them and read them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "cut", "heal", "node-down", "node-up", "group", "controller", "plan", "flow", "scheme", "fault", "command"
]
"""Kinds of events: `group` is what switches did by themselves or were made to do with a tunnel's packets."""

MOST_EVENTS = 5000
"""Events that are kept; older ones are forgotten."""


@dataclass(frozen=True)
class LabEvent:
    """An event.

    Attributes:
        time: Unix time in seconds.
        text: one line for people.
        subject: the names of `link`, `node`, `flow` and `tunnels` that it concerns.
        details: its data; a request that it answers has the same ones as its result.
    """

    seq: int
    time: float
    kind: Kind
    text: str
    subject: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


class LabJournal:
    """The events; `on_event` is called after each, in the thread that adds it."""

    def __init__(self, clock: Callable[[], float] = time.time, most: int = MOST_EVENTS) -> None:
        self.on_event: Callable[[], None] = lambda: None
        self._clock = clock
        self._events: deque[LabEvent] = deque(maxlen=most)
        self._last = 0
        self._adding = threading.Lock()

    @property
    def last(self) -> int:
        """Number of the newest event, 0 before the first."""
        return self._last

    def add(
        self,
        kind: Kind,
        text: str,
        subject: dict[str, Any] | None = None,
        details: dict[str, Any] | None = None,
        at: float | None = None,
    ) -> None:
        """Add an event, which happened now or `at` a Unix time."""
        with self._adding:
            self._last += 1
            when = self._clock() if at is None else at
            self._events.append(LabEvent(self._last, when, kind, text, subject or {}, details or {}))
        self.on_event()

    def after(self, number: int) -> list[LabEvent]:
        """Return the events that are kept with a number above this one, oldest first."""
        with self._adding:
            newer = min(max(0, self._last - number), len(self._events))
            return [self._events[at] for at in range(len(self._events) - newer, len(self._events))]
