"""Turns runs into tables: completion times of short flows and goodput of large ones, beside the published numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from experiments.cqrd.published import LOADS, PERCENTILES, percentiles_of, published, value
from experiments.cqrd.runs import Run
from experiments.cqrd.switches import SWITCHES
from experiments.results.bars import limit, order, size
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check

Vector = NDArray[np.float64]
Which = NDArray[np.bool_]

Runs = Mapping[tuple[str, float], Sequence[Run]]
"""Runs of a scheme and a load, one for each seed."""

FCT, GOODPUT = "FCT of short flows (ms)", "goodput of large flows (Gbit/s)"
"""FCT is the flow completion time."""
MEAN_ERROR = 0.15
"""Most mean relative error of the average completion times, over all switches and loads."""

LABELS = {**SWITCHES, "tcp-oq": "OQ, TCP"}

_STATISTICS: Mapping[str, Callable[[Vector], float]] = {
    "20th": lambda values: float(np.percentile(values, 20)),
    "50th": lambda values: float(np.percentile(values, 50)),
    "average": lambda values: float(values.mean()),
    "80th": lambda values: float(np.percentile(values, 80)),
    "99th": lambda values: float(np.percentile(values, 99)),
}


def statistic(name: str, values: Vector) -> float | None:
    """Return the statistic of some values, None if there are none."""
    return _STATISTICS[name](values) if values.size else None


@dataclass(frozen=True)
class Naming:
    """Names of an experiment's tables.

    Attributes:
        name: prefix of all their names.
        title: of the experiment.
        figure: the paper's name of the figure.
        keys: of its published numbers.
        remarks: below every table.
    """

    name: str
    title: str
    figure: str
    keys: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def over_loads(naming: Naming, runs: Runs, judged: Collection[str]) -> list[Exhibit]:
    """Return tables of the average and 99th percentile of completion times and goodput, by load.

    In `judged` ones CQRD relative to OQ is held against the published ratio; none is for runs smaller than the paper's.
    """
    exhibits = []
    for quantity, unit in (("fct", FCT), ("goodput", GOODPUT)):
        for name in ("average", "99th"):
            lines = []
            for scheme in dict.fromkeys(scheme for scheme, _ in runs):
                points = []
                for place, load in enumerate(LOADS):
                    known = [statistic(name, _values(run, quantity)) for run in runs.get((scheme, load), ())]
                    points.append(Point.of(load, known, value(*naming.keys, quantity, name, scheme, place)))
                lines.append(Line(LABELS[scheme], tuple(points)))
            key = f"{quantity}-{name}"
            exhibits.append(
                Exhibit(
                    name=f"{naming.name}-{key}",
                    title=f"{naming.title}: {name}",
                    reproduces=naming.figure,
                    backend="packet",
                    axis="load, as the paper calls it",
                    quantity=f"{unit}, {name}",
                    lines=tuple(lines),
                    published=published()["source"],
                    checks=tuple(ratio_checks(lines, quantity)) if key in judged else (),
                    unjudged=not judged,
                    remarks=naming.remarks,
                )
            )
    return exhibits


def of_interfered(naming: Naming, runs: Mapping[str, Run], chosen: Mapping[str, Which]) -> list[Exhibit]:
    """Return percentiles of flows that met a giant one, for one load and seed; `chosen` names the kinds of flows."""
    exhibits = []
    for kind, which in chosen.items():
        for quantity, unit in (("fct", FCT), ("goodput", GOODPUT)):
            lines = []
            for scheme, run in runs.items():
                values = _values(run, quantity, which)
                keys = (*naming.keys, "interfered", kind, quantity, scheme)
                points = [
                    Point.of(name, [statistic(name, values)], value(*keys, place))
                    for place, name in enumerate(PERCENTILES)
                ]
                lines.append(Line(LABELS[scheme], tuple(points)))
            exhibits.append(_percentiles(naming, (f"{kind.lower()}-{quantity}", f"interfered, {kind}"), unit, lines))
    return exhibits


def of_kinds(naming: Naming, load: float, kinds: Mapping[str, int], flows: int) -> Iterator[Exhibit]:
    """Yield how many flows met a giant one in which way, at one load; nothing if the paper has no such numbers."""
    counts = {**kinds, "not interfered": flows - sum(kinds.values())}
    place = LOADS.index(load)
    theirs = {kind: value(*naming.keys, "flows", kind, place) for kind in counts}
    if any(number is not None for number in theirs.values()):
        yield Exhibit(
            f"{naming.name}-kinds",
            f"{naming.title}: flows by the giant flows that they meet, load {load:g}",
            "CQRD Figure 6",
            "packet",
            "kind of flow",
            "flows",
            (Line("flows", tuple(Point.of(kind, [float(count)], theirs[kind]) for kind, count in counts.items())),),
            published()["source"],
            remarks=(*naming.remarks, "The run of OQ decides which flows meet."),
        )


def of_distribution(naming: Naming, runs: Runs) -> list[Exhibit]:
    """Return percentiles of completion times and goodput at each load that a paper draws as distributions."""
    exhibits = []
    for quantity, unit, key in (("fct", FCT, "cdf"), ("goodput", GOODPUT, "goodput_cdf")):
        for place, load in enumerate(LOADS):
            lines = []
            for (scheme, at), of in runs.items():
                if at != load:
                    continue
                points = [
                    Point.of(
                        f"{percentile}th",
                        [float(np.percentile(_values(run, quantity), percentile)) for run in of],
                        value(*naming.keys, key, scheme, place, number),
                    )
                    for number, percentile in enumerate(percentiles_of(*naming.keys))
                ]
                lines.append(Line(LABELS[scheme], tuple(points)))
            if not lines:
                continue
            name = f"{quantity}-distribution-{load:g}"
            exhibits.append(_percentiles(naming, (name, f"distribution at load {load:g}"), unit, lines))
    return exhibits


def _percentiles(naming: Naming, named: tuple[str, str], unit: str, lines: Sequence[Line]) -> Exhibit:
    """Return a table of percentiles; `named` is what its name and its title end in."""
    name, title = named
    return Exhibit(
        name=f"{naming.name}-{name}",
        title=f"{naming.title}: {title}",
        reproduces=naming.figure,
        backend="packet",
        axis="percentile",
        quantity=unit,
        lines=tuple(lines),
        published=published()["source"],
        remarks=naming.remarks,
    )


def mean_error(lines: Sequence[Line]) -> float | None:
    """Return the mean relative error of all points that have a published number, None without one."""
    errors = [
        abs(point.value / point.published - 1)
        for line in lines
        for point in line.points
        if point.value is not None and point.published
    ]
    return fmean(errors) if errors else None


def ratio_checks(lines: Sequence[Line], quantity: str) -> Iterator[Check]:
    """Yield the bars for CQRD relative to OQ.

    In the completion times of short flows no switch may be slower than the next coarser one.
    """
    at = {line.label: line for line in lines}
    for load in [float(point.x) for point in at["OQ"].points]:
        points = {label: line.at(load) for label, line in at.items()}
        ours, theirs = _ratio(points, "CQRD", "OQ")
        if ours is not None and theirs is not None:
            yield size(f"CQRD / OQ at load {load:g}", ours, theirs)
        for finer, coarser in (("CQRD", "CQ"), ("CQ", "HCF"), ("HCF", "OQ")) if quantity == "fct" else ():
            ours, _ = _ratio(points, finer, coarser)
            if ours is not None:
                yield order(f"{finer} / {coarser} at load {load:g}", ours, high=1.0)
    if quantity == "fct" and (error := mean_error(lines)) is not None:
        yield limit("mean relative error of all averages", error, high=MEAN_ERROR)


def _ratio(points: Mapping[str, Point], one: str, other: str) -> tuple[float | None, float | None]:
    """Return the ratio of our numbers and that of the published ones."""
    a, b = points[one], points[other]
    return (
        None if a.value is None or b.value is None else a.value / b.value,
        None if a.published is None or b.published is None else a.published / b.published,
    )


def _values(run: Run, quantity: str, which: Which | None = None) -> Vector:
    return run.milliseconds(which) if quantity == "fct" else run.gigabits(which)
