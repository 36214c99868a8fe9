"""Values of metrics: their beginnings, buckets, and what is read at each reading."""

from __future__ import annotations

from kuijia_app.framework.metrics.tally import Distribution, Metric, Tally

COUNT = Metric("work_total", "counter", "Work.")
SORTS = Metric("sorted_total", "counter", "Work by kind.", ("kind",))
LEVEL = Metric("level", "gauge", "Level.", ("place",))
DELAY = Metric("delay_seconds", "histogram", "Delay.", buckets=(0.1, 1.0))
STAGES = Metric("stage_seconds", "histogram", "Stage.", ("stage",), (1.0,))


def values(tally: Tally) -> dict[str, dict[tuple[str, ...], float | Distribution]]:
    return {metric.name: dict(found) for metric, found in tally.read()}


def test_only_what_has_no_labels_has_a_value_from_the_start() -> None:
    found = values(Tally([COUNT, SORTS, LEVEL, DELAY, STAGES]))
    assert found == {
        "work_total": {(): 0},
        "sorted_total": {},
        "level": {},
        "delay_seconds": {(): Distribution((0, 0, 0), 0)},
        "stage_seconds": {},
    }


def test_counters_grow_gauges_are_set_and_may_lose_values() -> None:
    tally = Tally([SORTS, LEVEL])
    for kind in ("a", "b", "a"):
        tally.add("sorted_total", 1, kind)
    tally.set("level", 3, "here")
    tally.replace("level", {("there",): 4})
    assert values(tally) == {"sorted_total": {("a",): 2, ("b",): 1}, "level": {("there",): 4}}


def test_a_bound_belongs_to_its_bucket_and_each_bucket_has_those_below() -> None:
    tally = Tally([DELAY, STAGES])
    for seconds in (0.05, 0.1, 0.5, 7):
        tally.observe("delay_seconds", seconds)
    tally.observe("stage_seconds", 2, "late")
    assert values(tally) == {
        "delay_seconds": {(): Distribution((2, 3, 4), 7.65)},
        "stage_seconds": {("late",): Distribution((0, 1), 2)},
    }


def test_values_that_nobody_writes_are_looked_up_at_each_reading() -> None:
    levels = iter([1, 2])
    tally = Tally([LEVEL], lambda tally: tally.set("level", next(levels), "here"))
    assert [values(tally)["level"] for _ in range(2)] == [{("here",): 1}, {("here",): 2}]
