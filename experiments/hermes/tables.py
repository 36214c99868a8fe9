"""Exhibits and bars of measured grids: completion times over the load, absolute or relative to Hermes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from experiments.hermes.published import published
from experiments.hermes.runs import Measured
from experiments.hermes.schemes import NAMES
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check

SPREAD = 0.2
"""Margin to either side of a published completion time on the testbed."""


@dataclass(frozen=True)
class Naming:
    """Names of an exhibit.

    Attributes:
        name: such as `hermes-fig12-web-search`.
        figure: such as `Figure 12a`.
        title: without the size of the runs.
        base: scheme that numbers are relative to, seed by seed; None for absolute numbers.
        bars: True if the picture has bars for each load, as some of the paper's have.
        remarks: whole sentences.
    """

    name: str
    figure: str
    title: str
    base: str | None = None
    bars: bool = False
    remarks: tuple[str, ...] = ()


def over_loads(
    naming: Naming,
    measured: Measured,
    statistic: str,
    theirs: tuple[Sequence[float], Mapping[str, Sequence[float | None]]] | None,
    checks: Sequence[Check] = (),
) -> Exhibit:
    """Return a line for each scheme over the load.

    Args:
        naming: its names.
        measured: our runs.
        statistic: of `experiments.hermes.runs.outcome`.
        theirs: loads of the published numbers, and these by scheme.
        checks: its bars.
    """
    base = naming.base
    lines = []
    for scheme in measured.grid.schemes:
        points = []
        for load in measured.grid.loads:
            values = (
                measured.values(scheme, load, statistic)
                if base is None
                else measured.ratios(scheme, base, load, statistic)
            )
            points.append(
                Point.of(f"{100 * load:g} %" if naming.bars else load, values, _published(theirs, scheme, load))
            )
        lines.append(Line(label_of(scheme), tuple(points)))
    quantity = f"{statistic} (%)" if statistic.startswith("unfinished") else f"completion time (ms), {statistic}"
    return Exhibit(
        name=naming.name,
        title=f"{naming.title}, {measured.grid.size}",
        reproduces=f"Hermes {naming.figure}",
        backend="packet",
        axis="load",
        quantity=quantity if base is None else f"{quantity}, {label_of(base)} = 1",
        lines=tuple(lines),
        published=published()["source"] if theirs else None,
        checks=tuple(check for check in checks if not math.isnan(check.measured)),
        remarks=(*naming.remarks, *remarks_of(measured)),
    )


def label_of(scheme: str) -> str:
    return NAMES.get(scheme, scheme)


def theirs_of(figure: str, key: str) -> tuple[Sequence[float], Mapping[str, Sequence[float | None]]]:
    """Return the loads and the numbers by scheme of a figure."""
    data = published()[figure]
    return data["loads"], data[key]


def _published(
    theirs: tuple[Sequence[float], Mapping[str, Sequence[float | None]]] | None, scheme: str, load: float
) -> float | None:
    if theirs is None or scheme not in theirs[1] or load not in theirs[0]:
        return None
    return theirs[1][scheme][list(theirs[0]).index(load)]


def remarks_of(measured: Measured) -> list[str]:
    """Return sentences on the size of the runs and on flows that did not end."""
    seeds = max(len(of_key) for of_key in measured.runs.values())
    said = [f"Means of {seeds} seeds; in each all schemes have the same flows." if seeds > 1 else "One seed."]
    unfinished = sum(
        round(run["unfinished"] * measured.grid.flows[load] / 100)
        for (_, load), of_key in measured.runs.items()
        for run in of_key
    )
    if unfinished:
        said.append(f"{unfinished:,} flows of all runs had not ended 5 s after the last had begun.")
    return said


def near_published(measured: Measured, figure: str, key: str, most_load: float, margin: float = SPREAD) -> list[Check]:
    """Return the bars that completion times are near the published ones, for all schemes up to a load."""
    theirs = theirs_of(figure, key)
    checks = []
    for scheme in measured.grid.schemes:
        for load in measured.grid.loads:
            value = _published(theirs, scheme, load)
            if value is not None and load <= most_load:
                ours = [each for each in measured.values(scheme, load, "overall average") if each is not None]
                checks.append(
                    Check(
                        f"{label_of(scheme)} at {load:g} / published",
                        sum(ours) / len(ours) / value,
                        1 - margin,
                        1 + margin,
                    )
                )
    return checks


def order_as_published(
    measured: Measured, figure: str, key: str, loads: Sequence[float], statistic: str = "overall average"
) -> list[Check]:
    """Return the bars that schemes are in the published order; those off the published scale are the last.

    Schemes with equal published values are not compared with each other.
    """
    theirs = theirs_of(figure, key)
    checks = []
    for load in loads:
        if load not in measured.grid.loads:
            continue
        by_value: dict[float, list[str]] = {}
        for name in measured.grid.schemes:
            value = 1.0 if name == "hermes" else _published(theirs, name, load)
            by_value.setdefault(math.inf if value is None else value, []).append(name)
        for better_ones, worse_ones in pairwise(by_value[value] for value in sorted(by_value)):
            for better, worse in product(better_ones, worse_ones):
                checks += ratio_bar(measured, worse, better, load, 1.0, None, statistic)
    return checks


def ratio_bar(
    measured: Measured,
    scheme: str,
    base: str,
    load: float,
    low: float | None,
    high: float | None,
    statistic: str = "overall average",
) -> list[Check]:
    """Return the bar for the ratio of a statistic of two schemes at a load; nothing if it was not measured."""
    if (scheme, load) not in measured.runs or (base, load) not in measured.runs:
        return []
    name = f"{label_of(scheme)} / {label_of(base)} at {load:g}"
    return [Check(name, measured.ratio(scheme, base, load, statistic), low, high)]
