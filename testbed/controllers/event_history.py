"""Remembers the events of an application: the latest in full, of earlier ones what is not superseded; pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

Event: TypeAlias = dict[str, Any]

RECENT = 20_000
"""Latest events that are all kept."""

_IDENTITY = ("event", "switch", "port", "kind", "detail", "ingress", "egress", "path_id", "update", "controller")
"""Fields that say what an event is about."""

_SUPERSEDED: Event = {"event": "superseded", "time": 0.0, "monotonic": 0.0}


class EventHistory:
    """The events of one application, oldest first; places in the list never change.

    An event counts as superseded once it is older than the latest `RECENT` and a later one is about the same. In its
    place stands one that says so, which takes no memory of its own.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._swept = 0

    def extend(self, events: Iterable[Event]) -> None:
        """Add the next events."""
        self.events.extend(events)
        if len(self.events) - self._swept >= 2 * RECENT:
            self._sweep()

    def _sweep(self) -> None:
        end = len(self.events) - RECENT
        seen: set[tuple[object, ...]] = set()
        for place in reversed(range(end)):
            event = self.events[place]
            if event is _SUPERSEDED:
                continue
            identity = tuple(str(event.get(name)) for name in _IDENTITY)
            if identity in seen:
                self.events[place] = _SUPERSEDED
            seen.add(identity)
        self._swept = end
