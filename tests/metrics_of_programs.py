"""All metrics that our programs export, and the names that Prometheus gives to their series."""

from __future__ import annotations

from collections.abc import Iterable

from hedera.scheduling import events as scheduler
from kuijia_app.control import controller_metrics as controller
from kuijia_app.control.switch_metrics import switch_metrics
from kuijia_app.framework.metrics.tally import Metric
from testbed.boxes import watch
from testbed.lab import metrics as lab_metrics

PROGRAMS: dict[str, tuple[Metric, ...]] = {
    "controller": (*switch_metrics(controller.PREFIX), *controller.METRICS),
    "scheduler": (*switch_metrics(scheduler.PREFIX), *scheduler.METRICS),
    "lab": lab_metrics.METRICS,
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
    """Return the table of a program's metrics, as the page on metrics shows it.

    The table of the scheduler lacks the metrics of `switch_metrics`, which it shares with the controller.
    """
    rows = ["| metric | type | labels | value |", "|---|---|---|---|"]
    metrics = scheduler.METRICS if program == "scheduler" else PROGRAMS[program]
    for metric in metrics:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        rows.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help.removesuffix('.')} |")
    return "\n".join(rows) + "\n"
