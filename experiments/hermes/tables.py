"""Exhibits and bars of measured grids: completion times over the load, absolute or relative to Hermes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from experiments.hermes.runs import Measured
from experiments.hermes.schemes import NAMES, PUBLISHED
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check

Theirs = tuple[Sequence[float], Mapping[str, Sequence[float | None]]]
"""Loads of published numbers, and these by scheme."""


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
    theirs: Theirs | None,
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
        published=PUBLISHED["source"] if theirs else None,
        checks=tuple(check for check in checks if not math.isnan(check.measured)),
        remarks=(*naming.remarks, *remarks_of(measured)),
    )


def label_of(scheme: str) -> str:
    return NAMES.get(scheme, scheme)


def theirs_of(figure: str, key: str) -> Theirs:
    """Return the loads and the numbers by scheme of a figure."""
    data = PUBLISHED[figure]
    return data["loads"], data[key]


def _published(theirs: Theirs | None, scheme: str, load: float) -> float | None:
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
                checks += ratio_bar(measured, worse, better, load, 1.0, statistic, theirs)
    return checks


def ratio_bar(
    measured: Measured,
    scheme: str,
    base: str,
    load: float,
    low: float,
    statistic: str = "overall average",
    theirs: Theirs | None = None,
) -> list[Check]:
    """Return the least ratio of a statistic of two schemes at a load as a bar; nothing if it was not measured.

    With the published numbers, absolute or relative to Hermes, schemes that these set apart by less than seeds differ
    are a tie.
    """
    if (scheme, load) not in measured.runs or (base, load) not in measured.runs:
        return []
    name = f"{label_of(scheme)} / {label_of(base)} at {load:g}"
    ratios = [each for each in measured.ratios(scheme, base, load, statistic) if each is not None]
    spread = (max(ratios) - min(ratios)) / 2 if len(ratios) > 1 else None
    one, other = (_published(theirs, each, load) or (1.0 if each == "hermes" else None) for each in (scheme, base))
    published = one / other if theirs is not None and one is not None and other is not None else None
    return [Check(name, measured.ratio(scheme, base, load, statistic), low, None, published, spread=spread)]
