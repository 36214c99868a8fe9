"""The names of what the scheduler writes into its event log, besides those of `kuijia_app.event_log`."""

from __future__ import annotations

from typing import Final

ROUND: Final = "round"
"""A round: flows counted, elephants, moved, put, deleted, strangers, switches that are silent, seconds it took."""

ROUTES_CHANGED: Final = "routes-changed"
"""Cables have failed or come back: those that are failed now."""

ENTRY_REFUSED: Final = "entry-refused"
"""A switch has refused one of the scheduler's own messages."""
