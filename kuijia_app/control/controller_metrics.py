"""Metrics of the controller: tunnels, reactions to failures, plans and their updates, and of its switches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kuijia_app.control.liveness import LivenessTracker
from kuijia_app.control.restoration import Restoration
from kuijia_app.control.rollout import Rollout
from kuijia_app.control.switch_metrics import SwitchMetrics
from kuijia_app.framework import event_log
from kuijia_app.framework.metrics.tally import REACTION_BUCKETS, WORK_BUCKETS, Metric

PREFIX = "kuijia_controller"

_UPDATES = (event_log.UPDATE_STARTED, event_log.UPDATE_LIVE, event_log.UPDATE_DONE, event_log.UPDATE_REFUSED)
_STAGES = {event_log.UPDATE_LIVE: "live", event_log.UPDATE_DONE: "done"}
_MOST_UPDATES = 16
"""Updates whose beginning is remembered: one is under way, and those that it replaced may be yet to be told of."""

METRICS = (
    Metric(f"{PREFIX}_info", "gauge", "Always 1; its labels are the controller's options.", ("framework", "liveness")),
    Metric(f"{PREFIX}_links_failed", "gauge", "Links that a switch has reported down, or that lose probes."),
    Metric(f"{PREFIX}_tunnels", "gauge", "Tunnels of the plan in force."),
    Metric(f"{PREFIX}_tunnels_dead", "gauge", "Tunnels that a failed link has broken, as the controller sees it."),
    Metric(
        f"{PREFIX}_pairs_carried", "gauge", "Pairs without a live tunnel that are carried over another path, each way."
    ),
    Metric(
        f"{PREFIX}_pairs_cut_off", "gauge", "Pairs without a live tunnel that nothing carries, each way, as none can."
    ),
    Metric(
        f"{PREFIX}_failovers_total",
        "counter",
        "Tunnels that ingresses have acknowledged as dead: their traffic is in other tunnels from then on.",
    ),
    Metric(f"{PREFIX}_recoveries_total", "counter", "Tunnels that ingresses have acknowledged as alive again."),
    Metric(
        f"{PREFIX}_reaction_seconds",
        "histogram",
        "Time from the controller's notice that a tunnel died or came back until its ingress has acknowledged that.",
        buckets=REACTION_BUCKETS,
    ),
    Metric(
        f"{PREFIX}_plan_in_force_timestamp_seconds",
        "gauge",
        "Unix time at which the plan in force came into force: the first, when a switch had its tables.",
    ),
    Metric(
        f"{PREFIX}_plan_update_seconds",
        "histogram",
        "Time from the start of an update until it is in force (live) and until the old plan is gone (done).",
        ("stage",),
        WORK_BUCKETS,
    ),
    Metric(f"{PREFIX}_plan_updates_refused_total", "counter", "Updates that were given up."),
    Metric(f"{PREFIX}_solve_seconds", "histogram", "Time for solving a new plan after failures.", buckets=WORK_BUCKETS),
)


class ControllerMetrics(SwitchMetrics):
    """Writes the controller's metrics."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(PREFIX, clock, further=METRICS, events=(*_UPDATES, event_log.TUNNEL_LIVENESS))
        self._told: dict[tuple[str, int], float] = {}
        self._updates: dict[str, float] = {}
        self._followed: tuple[Rollout, LivenessTracker, Restoration] | None = None
        self._is_in_force = False

    def follow(
        self, framework: str, liveness: str, rollout: Rollout, tracker: LivenessTracker, restoration: Restoration
    ) -> None:
        """Read the plan in force and the state of its tunnels and pairs from these, from now on."""
        self.tally.set(f"{PREFIX}_info", 1, framework, liveness)
        self._followed = rollout, tracker, restoration

    def look(self) -> None:
        super().look()
        if self._followed is None:
            return
        rollout, tracker, restoration = self._followed
        tunnels = {tunnel.path_id for tunnel in rollout.in_force.plan.tunnels}
        self.tally.set(f"{PREFIX}_links_failed", len(tracker.failed_edges))
        self.tally.set(f"{PREFIX}_tunnels", len(tunnels))
        self.tally.set(f"{PREFIX}_tunnels_dead", len(tunnels & tracker.broken_path_ids()))
        self.tally.set(f"{PREFIX}_pairs_carried", len(restoration.carried))
        self.tally.set(f"{PREFIX}_pairs_cut_off", len(restoration.cut_off))

    def told(self, ingress: str, path_id: int) -> None:
        """Note that an ingress is being told of a tunnel."""
        self._told[ingress, path_id] = self._clock()

    def solved(self, seconds: float) -> None:
        """Note that a new plan was solved; the thread that makes plans calls this."""
        self.tally.observe(f"{PREFIX}_solve_seconds", seconds)

    def heard(self, event: str, details: dict[str, Any]) -> None:
        super().heard(event, details)
        if event == event_log.TUNNEL_LIVENESS:
            self._changed(details["ingress"], details["path_id"], alive=details["alive"])
        elif event == event_log.SWITCH_READY and not self._is_in_force:
            self._came_into_force()
        elif event in _UPDATES:
            self._updated(event, details["update"])

    def _changed(self, ingress: str, path_id: int, *, alive: bool) -> None:
        self.tally.add(f"{PREFIX}_{'recoveries' if alive else 'failovers'}_total")
        since = self._told.pop((ingress, path_id), None)
        if since is not None:
            self.tally.observe(f"{PREFIX}_reaction_seconds", self._clock() - since)

    def _came_into_force(self) -> None:
        self._is_in_force = True
        self.tally.set(f"{PREFIX}_plan_in_force_timestamp_seconds", time.time())

    def _updated(self, event: str, name: str) -> None:
        if event == event_log.UPDATE_STARTED:
            if len(self._updates) >= _MOST_UPDATES:
                del self._updates[next(iter(self._updates))]
            self._updates[name] = self._clock()
            return
        if event == event_log.UPDATE_REFUSED:
            self.tally.add(f"{PREFIX}_plan_updates_refused_total")
            self._updates.pop(name, None)
            return
        if event == event_log.UPDATE_LIVE:
            self._came_into_force()
        if name in self._updates:
            stage = _STAGES[event]
            self.tally.observe(f"{PREFIX}_plan_update_seconds", self._clock() - self._updates[name], stage)
            if stage == "done":
                del self._updates[name]
