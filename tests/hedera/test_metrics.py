"""Metrics of the scheduler, from its events."""

from __future__ import annotations

from hedera.scheduling import events
from hedera.scheduling.events import SchedulerMetrics
from kuijia_app.framework.event_log import EventLog
from kuijia_app.framework.metrics.tally import Distribution

ROUND = {"flows": 9, "elephants": 3, "moved": 2, "put": 4, "deleted": 1, "strangers": 0, "silent": ["a"]}


def test_rounds_and_routes_are_counted_and_timed() -> None:
    metrics = SchedulerMetrics(lambda: 0.0)
    log = EventLog(None, metrics.heard)
    for seconds in (0.02, 0.04):
        log.write(events.ROUND, **ROUND, seconds=seconds)
    log.write(events.ROUTES_CHANGED, failed=[["a", "b"]])
    metrics.routed(0.3)
    found = {metric.name.removeprefix("kuijia_scheduler_"): dict(values) for metric, values in metrics.tally.read()}
    plain = {name: values[()] for name, values in found.items() if () in values}
    assert (plain["flows"], plain["elephants"]) == (9, 3)
    assert (plain["elephants_moved_total"], plain["entries_put_total"], plain["entries_deleted_total"]) == (4, 8, 2)
    assert (plain["switches_silent"], plain["links_failed"]) == (1, 1)
    rounds, routes = plain["round_seconds"], plain["route_search_seconds"]
    assert isinstance(rounds, Distribution)
    assert isinstance(routes, Distribution)
    assert (rounds.cumulative[-1], round(rounds.sum, 6), routes.cumulative[-1]) == (2, 0.06, 1)
    assert found["events_total"][events.ROUND,] == 2
