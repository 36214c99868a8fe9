"""Tables and figures of the results on Gscale, by name; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.compared_schemes import PAPERS_SCHEMES, compared_schemes
from experiments.gscale.aggregates import aggregates_of
from experiments.gscale.case_plan import plan_of
from experiments.gscale.cases import HIGH, LOW, UNNAMED, Traffic, case_of
from experiments.gscale.convergence_definitions import NAME as DEFINITIONS
from experiments.gscale.convergence_definitions import TOLERANCES, definitions_table
from experiments.gscale.convergence_table import roles_table, table_4, victims_table
from experiments.gscale.loss_figures import LOSS_FIGURES
from experiments.gscale.readings.summary import CURVES
from experiments.measuring.wanted_flow import WantedFlow
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_curves
from experiments.results.result import Result

PAPERS_LINK = 1000.0

_BEFORE = "before"
_PARTS = {
    "high, direct": (HIGH, False),
    "high, victims": (HIGH, True),
    "low, direct": (LOW, False),
    "low, victims": (LOW, True),
}
"""Label to class, and True for victims."""

_Hop = tuple[str, str]


def figure_16(results: Sequence[Result]) -> Exhibit:
    """Return the figure from the runs with two classes among the results; there must be at least one."""
    published = published_curves("fig16")
    runs = {case_of(run): run for run in results if case_of(run).traffic == "priorities"}
    heaviest = max(case.demand for case in runs)
    shown = min(case for case in runs if case.demand == heaviest)
    by_scheme = {
        case.scheme: run
        for case, run in sorted(runs.items())
        if (case.demand, case.link, case.repetition) == (shown.demand, shown.link, shown.repetition)
    }
    first = by_scheme[shown.scheme]
    flows = {flow.name: flow for flow in aggregates_of(plan_of(shown, first.capacity, first.seed), shown.link)}
    hop = _busiest(flows)
    lines = []
    for label, part in _PARTS.items():
        points = [Point.of(_BEFORE, [_volume(first, flows, hop, part, after=False)], published.at(label, _BEFORE))]
        for scheme in PAPERS_SCHEMES:
            if scheme in by_scheme:
                x = f"after, {scheme}"
                volume = _volume(by_scheme[scheme], flows, hop, part, after=True)
                points.append(Point.of(x, [volume], published.at(label, x)))
        lines.append(Line(label, tuple(points)))
    return Exhibit(
        "fig16",
        f"what passes the link {'-'.join(hop)} before and after {'-'.join(shown.link)} fails, demand {heaviest:g}",
        "Figure 16",
        first.backend,
        "time and scheme",
        f"goodput in Mbit/s, scaled to a link of {PAPERS_LINK:g}",
        tuple(lines),
        published.source,
        remarks=(
            "Victims shown before the failure use this link on a tunnel that fails elsewhere; they leave the link.",
            "The paper's link, run and demand are not known: compare who loses, not how much.",
        ),
    )


def _volume(run: Result, flows: Mapping[str, WantedFlow], hop: _Hop, part: tuple[int, bool], *, after: bool) -> float:
    """Return the goodput on a link of the flows of a class, either victims or others."""
    total = 0.0
    for flow in run.flows:
        wanted = flows[flow.name]
        tunnel = wanted.backup if after else wanted.tunnel
        if hop in tunnel.hops and part == (flow.priority, flow.role == "victim"):
            total += flow.after if after else flow.before
    return total * PAPERS_LINK / run.capacity


def _busiest(flows: Mapping[str, WantedFlow]) -> _Hop:
    """Return the directed link to which the victims of the low class bring the most traffic."""
    brought: dict[_Hop, float] = {}
    for flow in flows.values():
        if flow.priority == LOW and flow.tunnel != flow.backup:
            for hop in flow.backup.hops:
                brought[hop] = brought.get(hop, 0.0) + flow.offered
    return max(brought, key=lambda hop: brought[hop])


ALL = "all"

MEANS = 30
"""Published means of Figures 10 to 13, without those of directly affected flows under Kuijia."""


def distance_exhibit(results: Sequence[Result]) -> Exhibit:
    """Return by how many percentage points our means miss the published ones; without lines if any is not measured.

    Directly affected flows under Kuijia are left out, as in `gscale-readings`: they lose nothing here.
    """
    figures = {figure.name: figure.exhibit(results) for figure in LOSS_FIGURES if figure.name in dict(CURVES)}
    gaps = {f"{name}, {scheme}": _gaps(figures[name].line(scheme)) for name, scheme in CURVES}
    gaps[ALL] = [gap for of_curve in gaps.values() for gap in of_curve]
    if len(gaps[ALL]) < MEANS:
        gaps = {}
    known = {name: np.array(found) for name, found in gaps.items() if found}
    return Exhibit(
        "losses-distance",
        "distance of the losses from the published ones",
        "Figures 10 to 13",
        results[0].backend,
        "figure and scheme",
        "percentage points",
        (
            Line(
                "root mean square", tuple(Point(name, float(np.sqrt(np.mean(gap**2)))) for name, gap in known.items())
            ),
            Line("largest", tuple(Point(name, float(np.abs(gap).max())) for name, gap in known.items())),
        ),
        remarks=(f"{MEANS} of the {MEANS} published means are measured.",),
    )


def _gaps(line: Line) -> list[float]:
    return [
        point.value - point.published
        for point in line.points
        if point.value is not None and point.published is not None
    ]


_LIGHT = 0.8
"""Demand that overloads no link after a failure."""


def changes_table(results: Sequence[Result]) -> Exhibit:
    """Return the share of flows whose goodput after the failure differs by more than each tolerance from before."""
    changes = {
        scheme: np.array(
            [
                abs(flow.after - flow.before) / flow.before
                for result in results
                if result.scheme == scheme and case_of(result).demand > _LIGHT
                for flow in result.flows
                if flow.role == "direct" and flow.before > 0
            ]
        )
        for scheme in compared_schemes()
    }
    changes = {scheme: found for scheme, found in changes.items() if found.size}
    lines = [
        Line(scheme, tuple(Point(f"{beyond:.0%}", 100 * float(np.mean(found > beyond))) for beyond in TOLERANCES))
        for scheme, found in changes.items()
    ]
    counts = ", ".join(f"{found.size} under {scheme}" for scheme, found in changes.items())
    return Exhibit(
        "table4-changes",
        "directly affected TCP flows whose goodput after the failure differs from before by more than a tolerance",
        "Table 4",
        results[0].backend,
        "tolerance",
        "share of these flows (%)",
        tuple(lines),
        remarks=(f"Flows of the runs with demands above {_LIGHT:g}: {counts}.",) if lines else (),
    )


@dataclass(frozen=True)
class Maker:
    """Makes an exhibit from the results of its traffics; `over_time` restricts it to results that have a `series`."""

    traffics: tuple[Traffic, ...]
    make: Callable[[Sequence[Result]], Exhibit]
    over_time: bool = False


MAKERS = {
    **{figure.name: Maker(figure.traffics, figure.exhibit) for figure in LOSS_FIGURES},
    "table4": Maker(("tcp",), table_4, over_time=True),
    "table4-victims": Maker(("tcp",), victims_table, over_time=True),
    "table4-roles": Maker(("tcp",), roles_table, over_time=True),
    "table4-changes": Maker(("tcp",), changes_table),
    DEFINITIONS: Maker(("tcp",), definitions_table, over_time=True),
    "losses-distance": Maker(("tcp", "udp"), distance_exhibit),
    "fig16": Maker(("priorities",), figure_16),
}


def exhibits_of(results: Sequence[Result], names: Iterable[str] = MAKERS) -> tuple[Exhibit, ...]:
    """Return the named exhibits that can be made from valid results, all of one backend."""
    usable = [result for result in results if not result.invalid]
    made = []
    for name in names:
        maker = MAKERS[name]
        own = [
            result
            for result in usable
            if case_of(result).traffic in maker.traffics and (result.flows[0].series.start or not maker.over_time)
        ]
        if own:
            exhibit = maker.make(own)
            made.append(replace(exhibit, remarks=(*exhibit.remarks, *_told(own[0]))))
    return tuple(exhibit for exhibit in made if exhibit.has_values)


def _told(result: Result) -> Iterator[str]:
    """Yield the reading of the results, if they name one."""
    reading = case_of(result).reading
    if reading != UNNAMED:
        yield f"Pairs, plans, roles and averages are those of the reading `{reading}` of the paper (docs/gscale.md)."
