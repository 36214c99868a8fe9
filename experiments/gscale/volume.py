"""Figure 16: traffic on one link before and after a failure, by class and role; pure.

The paper shows one link of one run and names neither them nor the demand. Here the run is the first one at the heaviest
demand, with the first failed link that has results; the link shown is the one to which low victims bring the most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.gscale.aggregates import aggregates_of
from experiments.gscale.case_plan import plan_of
from experiments.gscale.cases import HIGH, LOW, case_of
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
