"""All metrics that our programs export, and the names that Prometheus gives to their series."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hedera.scheduling import events as scheduler
from kuijia_app.control import controller_metrics as controller
from kuijia_app.control.switch_metrics import switch_metrics
from kuijia_app.framework.metrics.tally import Metric
from testbed.boxes import watch
from testbed.lab import lab_service

PROGRAMS: dict[str, tuple[Metric, ...]] = {
    "controller": (*switch_metrics(controller.PREFIX), *controller.METRICS),
    "scheduler": (*switch_metrics(scheduler.PREFIX), *scheduler.METRICS),
    "lab": lab_service.METRICS,
    "boxes": watch.METRICS,
}


def series_of(metrics: Iterable[Metric]) -> set[str]:
    """Return the names of all series of metrics."""
    names = set()
    for metric in metrics:
        endings = ("_bucket", "_sum", "_count") if metric.kind == "histogram" else ("",)
        names |= {metric.name + ending for ending in endings}
    return names


def table(program: str) -> str:
    """Return the table of a program's metrics, as the page on metrics shows it, without those that it shares."""
    rows = ["| metric | value |", "|---|---|"]
    for metric in PROGRAMS[program]:
        if metric not in shared(program):
            labels = f"{{{','.join(metric.labels)}}}" if metric.labels else ""
            kind = " (histogram)" if metric.kind == "histogram" else ""
            rows.append(f"| `{metric.name}{labels}` | {metric.help.removesuffix('.')}{kind} |")
    return "\n".join(rows) + "\n"


def shared(program: str) -> list[Metric]:
    """Return the metrics of a program that differ from those of one before it in their prefix alone."""
    before = [names for names in PROGRAMS if list(PROGRAMS).index(names) < list(PROGRAMS).index(program)]
    known = {_without_prefix(metric, name) for name in before for metric in PROGRAMS[name]}
    return [metric for metric in PROGRAMS[program] if _without_prefix(metric, program) in known]


def _without_prefix(metric: Metric, program: str) -> Metric:
    return replace(metric, name=metric.name.removeprefix(f"kuijia_{program}_"))
