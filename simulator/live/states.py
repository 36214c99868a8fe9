"""What a live network shows now, and its log: plain data, rates in Mbit/s and times in seconds."""

from __future__ import annotations

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
