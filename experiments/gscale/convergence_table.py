"""Table 4: how long TCP takes to come to stable throughput, for each link that fails and each demand; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from statistics import median

from experiments.exhibit import Exhibit, Line, Point
from experiments.gscale.cases import LINKS, SCHEMES, case_of
from experiments.gscale.convergence import convergence_seconds
from experiments.gscale.loss_figures import AXIS
from experiments.published import published_curves
from experiments.result import Check, Result

QUICK, HEAVY = 1.0, 1.2
"""Kuijia's median is to be at most `QUICK` seconds up to a demand of `HEAVY`."""

WELL_BELOW = 0.5
"""Of rescaling's median, what Kuijia's is at most beyond that."""


def table_4(results: Sequence[Result]) -> Exhibit:
    """The table, of the TCP runs of one class among the results; there is at least one."""
    published = published_curves("table4")
    runs = [run for run in results if case_of(run).traffic == "tcp"]
    demands = sorted({case_of(run).demand for run in runs})
    lines = []
    for scheme, link in product(SCHEMES, LINKS):
        label = f"{scheme}, {'-'.join(link)}"
        points = []
        for demand in demands:
            own = [
                run for run in runs if (run.scheme, case_of(run).link, case_of(run).demand) == (scheme, link, demand)
            ]
            points.append(Point.of(demand, map(convergence_seconds, own), published.at(label, demand)))
        lines.append(Line(label, tuple(points)))
    table = Exhibit(
        "table4",
        "time from the failure until the throughput of all affected TCP flows is stable",
        "Table 4",
        runs[0].backend,
        AXIS,
        "seconds",
        tuple(lines),
        published.source,
        remarks=(
            "Stable is what `experiments/gscale/convergence.py` says; the paper does not say what it means there.",
            "What the paper prints as <1 stands here as 1.",
        ),
    )
    return replace(table, checks=tuple(_checks(table, demands)))


def _checks(table: Exhibit, demands: Sequence[float]) -> Iterator[Check]:
    for demand in demands:
        rescaling, kuijia = (_median(table, scheme, demand) for scheme in SCHEMES)
        if kuijia is None:
            continue
        if demand <= HEAVY:
            yield Check(f"kuijia, median of the links in s at demand {demand}", kuijia, None, QUICK)
        elif rescaling:
            name = f"kuijia to rescaling, medians of the links, at demand {demand}"
            yield Check(name, kuijia / rescaling, None, WELL_BELOW)


def _median(table: Exhibit, scheme: str, demand: float) -> float | None:
    values = [line.at(demand).value for line in table.lines if line.label.startswith(f"{scheme}, ")]
    known = [value for value in values if value is not None]
    return median(known) if known else None
