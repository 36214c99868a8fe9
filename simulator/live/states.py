"""What a live network shows now, its clock and its log: plain data, rates in Mbit/s and times in seconds."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["untouched", "direct", "indirect", "victim"]
"""Role of a flow in the failures of now, in the words of the glossary; without a failure all are untouched."""

QueueRole = Literal["control", "normal", "victim"]

LogKind = Literal[
    "cut", "heal", "node-down", "node-up", "group", "controller", "plan", "flow", "scheme", "fault", "clock", "command"
]


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """A queue of every port: its number, what it serves, and the class of traffic, null if it serves all classes."""

    queue: int
    role: QueueRole
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """Rates at which a queue sends and drops now."""

    queue: int
    rate: float
    dropped: float


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a link."""

    from_: str
    to: str
    queues: tuple[QueueLoad, ...]


@dataclass(frozen=True, slots=True)
class LinkState:
    """The state of a link."""

    id: str
    up: bool
    directions: tuple[Direction, ...]


@dataclass(frozen=True, slots=True)
class FlowState:
    """A flow: the rate it wants, what arrives of it, its role, and the tunnels that carry it now."""

    id: str
    source: str
    target: str
    priority: int
    wanted: float
    goodput: float
    role: Role
    path_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RoleSum:
    """The flows of a role that are too many to be shown one by one: their number, and their rates together."""

    role: Role
    flows: int
    wanted: float
    goodput: float


@dataclass(frozen=True, slots=True)
class View:
    """The network under one scheme; `unshown` are the flows that `flows` leaves out."""

    scheme: str
    links: tuple[LinkState, ...]
    nodes_down: tuple[str, ...]
    tunnels_dead: tuple[int, ...]
    flows: tuple[FlowState, ...]
    unshown: tuple[RoleSum, ...] = ()


@dataclass(frozen=True, slots=True)
class ClockState:
    """The clock of a model or a recording."""

    speed: float
    paused: bool


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An event; `view` is the scheme that it is about, or null. `subject` names links, nodes, flows or tunnels."""

    seq: int
    time: float
    view: str | None
    kind: LogKind
    text: str
    subject: dict[str, Any] = field(default_factory=dict)


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
