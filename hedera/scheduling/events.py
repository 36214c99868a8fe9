"""Events that the scheduler logs besides those of `kuijia_app.framework.event_log`, and metrics that follow them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kuijia_app.control.switch_metrics import SwitchMetrics
from kuijia_app.framework.metrics.tally import WORK_BUCKETS, Metric

ROUND: Final = "round"
"""A round: flows counted, elephants, moved, put, deleted, strangers, silent switches, duration in seconds."""

ROUTES_CHANGED: Final = "routes-changed"
"""Cables have failed or come back: the cables that are down now."""

ENTRY_REFUSED: Final = "entry-refused"
"""A switch has refused one of the scheduler's own messages."""


PREFIX = "kuijia_scheduler"

METRICS = (
    Metric(f"{PREFIX}_round_seconds", "histogram", "Computing time of a round.", buckets=WORK_BUCKETS),
    Metric(f"{PREFIX}_flows", "gauge", "Flows that the latest round has counted."),
    Metric(f"{PREFIX}_elephants", "gauge", "Flows that the latest round has placed."),
    Metric(f"{PREFIX}_elephants_moved_total", "counter", "Flows that got another path."),
    Metric(f"{PREFIX}_entries_put_total", "counter", "Flow entries for elephants that were sent to switches."),
    Metric(f"{PREFIX}_entries_deleted_total", "counter", "Flow entries of elephants that were deleted."),
    Metric(f"{PREFIX}_switches_silent", "gauge", "Edge switches that have not answered the latest polls."),
    Metric(f"{PREFIX}_links_failed", "gauge", "Links between switches that routes avoid."),
    Metric(
        f"{PREFIX}_route_search_seconds",
        "histogram",
        "Time for finding routes around failed links.",
        buckets=WORK_BUCKETS,
    ),
)

_COUNTED = {"moved": "elephants_moved_total", "put": "entries_put_total", "deleted": "entries_deleted_total"}


class SchedulerMetrics(SwitchMetrics):
    """Writes the scheduler's metrics."""

    def __init__(self, clock: Callable[[], float]) -> None:
        further = (ROUND, ROUTES_CHANGED, ENTRY_REFUSED)
        super().__init__(PREFIX, clock, further=METRICS, events=further)

    def heard(self, event: str, details: dict[str, Any]) -> None:
        super().heard(event, details)
        if event == ROUND:
            self.tally.observe(f"{PREFIX}_round_seconds", details["seconds"])
            self.tally.set(f"{PREFIX}_flows", details["flows"])
            self.tally.set(f"{PREFIX}_elephants", details["elephants"])
            self.tally.set(f"{PREFIX}_switches_silent", len(details["silent"]))
            for name, metric in _COUNTED.items():
                self.tally.add(f"{PREFIX}_{metric}", details[name])
        elif event == ROUTES_CHANGED:
            self.tally.set(f"{PREFIX}_links_failed", len(details["failed"]))

    def routed(self, seconds: float) -> None:
        """Note that routes were found."""
        self.tally.observe(f"{PREFIX}_route_search_seconds", seconds)
