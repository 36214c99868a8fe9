"""The events of a lab, numbered from 1, which several threads may add and read, and lines for people about them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from kuijia_base.quantities import counted

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


def link_text(event: dict[str, Any]) -> str:
    """Return a line about a link that was cut or healed, from the data of a `NoticedLinkEvent`."""
    noticed = ", ".join(f"{switch} after {delay * 1000:.0f} ms" for switch, delay in event["delay"].items())
    return f"link {event['a']}-{event['b']} is {'up' if event['up'] else 'down'}: noticed by {noticed}"


def node_text(event: dict[str, Any]) -> str:
    """Return a line about a switch that was taken down or brought up, from the data of a `NodeEvent`."""
    links = counted(len(event["links"]), "link")
    return f"node {event['node']} is {'up' if event['up'] else 'down'}: {links} within {event['seconds'] * 1000:.0f} ms"


def reaction_text(event: dict[str, Any]) -> str | None:
    """Return a line about the controller's reaction, None if it had nothing to do."""
    if event["reaction_seconds"] is None:
        return None
    told = counted(event["tunnels_told"], "tunnel")
    return f"the controller informed the ingresses of {told} after {event['reaction_seconds'] * 1000:.0f} ms"


def plan_text(done: dict[str, Any]) -> str:
    """Return a line about a plan that was replaced, from the data of a `PlanUpdate`."""
    counts = ", ".join(f"{len(done[what])} {what}" for what in ("kept", "added", "removed"))
    seconds, reweighted = done["seconds"], done["reweighted"]
    return f"the new plan is in force after {seconds:.1f} s: tunnels {counts}, {reweighted} reweighted"


def handover_text(done: dict[str, Any]) -> str:
    """Return a line about a handover, from the data of a `Handover`."""
    return f"controller {done['after']} acts in place of controller {done['before']} after {done['seconds']:.2f} s"


def flow_text(flow: dict[str, Any]) -> str:
    """Return a line about a flow that was started."""
    rate = "as fast as it can" if flow["rate"] is None else f"at {flow['rate']:g} Mbit/s"
    ends = f"from {flow['source']} to {flow['target']}"
    return f"flow {flow['flow']} {ends} by {flow['kind'].upper()} {rate} for {flow['seconds']} s"


def withdrawn_text(done: dict[str, Any]) -> str:
    """Return a line about a plan that was taken out of force, from the data of a `PlanUpdate`."""
    removed = counted(len(done["removed"]), "tunnel")
    return f"the plan is withdrawn after {done['seconds']:.1f} s: {removed} removed"
