"""Options of Tables 2 and 3 that every experiment in the packet simulator heeds: quick to import."""

from __future__ import annotations

from collections.abc import Mapping

CONDITION_DEFAULTS: Mapping[str, str | None] = {
    "congestion_control": "cubic",
    "buffer_packets": None,
    "link_delay_seconds": None,
}
"""Names of the options with their defaults; None for one that depends on the backend."""
