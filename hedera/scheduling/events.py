"""Names of the events that the scheduler logs, besides those of `kuijia_app.framework.event_log`."""

from __future__ import annotations

from typing import Final

ROUND: Final = "round"
"""A round: flows counted, elephants, moved, put, deleted, strangers, silent switches, duration in seconds."""

ROUTES_CHANGED: Final = "routes-changed"
"""Cables have failed or come back: the cables that are down now."""

ENTRY_REFUSED: Final = "entry-refused"
"""A switch has refused one of the scheduler's own messages."""
