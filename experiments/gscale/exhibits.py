"""Tables and figures of the results on Gscale; pure.

The loss of a run is that of all flows of a role together: for TCP as a share of their goodput before the failure, for
UDP as a share of the packets sent after it. A figure shows means over the failing links and the repetitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

import numpy as np

from experiments.compared_schemes import PAPERS_SCHEMES, compared_schemes
from experiments.gscale.cases import (
    AXIS,
    CURVES,
    HIGH,
    LOW,
    UNNAMED,
    Case,
    Traffic,
    aggregates_of,
    case_of,
    stored_case,
)
from experiments.gscale.plans import plan_of, reading_of
from experiments.gscale.table4 import DEFINITIONS, TOLERANCES, definitions_table, roles_table, table_4, victims_table
from experiments.measuring.failure_run import WantedFlow
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_curves
from experiments.results.result import Check, FlowResult, Result, Role
from experiments.results.score import limit, order
from experiments.results.stored_files import StoredFile, StoredResult, refuse_flows, refuse_mixtures, stored_results
from kuijia_app.tables.slots import DEFAULT_SLOT_COUNT, SLOT_COUNTS
from te_solver.schemes.shipped.rescaling import RESCALING

TCP_LOSS, UDP_LOSS = "throughput loss (%)", "packet loss (%)"

RISE_SLACK = 1.0
"""Per cent by which a rising curve may fall from one demand to the next, as there are few draws of pairs."""

_FLOW_MEANS_AGREE = 1.0
"""Per cent within which the loss of the sum and the mean of the flows' own losses count as equal."""


@dataclass(frozen=True)
class LossLine:
    """Flows of a line: a role under a scheme, with one kind of traffic, of one class.

    `curve` is the published one to compare with, if not that of the same label.
    """

    label: str
    traffic: Traffic
    role: Role
    scheme: str
    priority: int = HIGH
    curve: str = ""

    def members(self, result: Result) -> list[FlowResult]:
        return [flow for flow in result.flows if (flow.role, flow.priority) == (self.role, self.priority)]

    def loss(self, result: Result) -> float | None:
        """Return the loss in per cent, joint or per flow by the reading; None if there was nothing to lose."""
        lost = mean_loss if _of_flows(result) else role_loss
        return _per_cent(lost(self.members(result)))


@dataclass(frozen=True)
class LossFigure:
    """A figure of losses.

    Attributes:
        checks: bars of its orders and limits.
        remarks: its particular notes.
        said: where the paper states these, for a figure whose numbers cannot be read.
    """

    name: str
    title: str
    reproduces: str
    quantity: str
    lines: tuple[LossLine, ...]
    checks: Callable[[Exhibit], Iterable[Check]]
    remarks: tuple[str, ...] = ()
    said: str = ""

    @property
    def traffics(self) -> tuple[Traffic, ...]:
        return tuple(dict.fromkeys(line.traffic for line in self.lines))

    def exhibit(self, results: Sequence[Result]) -> Exhibit:
        """Return the figure of its results; there must be at least one."""
        published = None if self.said else published_curves(self.name)
        lines: list[Line] = []
        couples: list[tuple[Point, Point]] = []
        for each in (*self.lines, *self._further_lines(results)):
            runs = [run for run in results if (case_of(run).traffic, run.scheme) == (each.traffic, each.scheme)]
            points = []
            for demand in sorted({case_of(run).demand for run in runs}):
                at_demand = [run for run in runs if case_of(run).demand == demand]
                found = [each.members(run) for run in at_demand]
                drawn = published.at(each.curve or each.label, demand) if published else None
                points.append(Point.of(demand, map(each.loss, at_demand), drawn))
                joint, own = (
                    Point.of(demand, [_per_cent(lost(flows)) for flows in found]) for lost in (role_loss, mean_loss)
                )
                couples.append((joint, own))
            lines.append(Line(each.label, tuple(points)))
        figure = Exhibit(
            self.name,
            self.title,
            self.reproduces,
            results[0].backend,
            AXIS,
            self.quantity,
            tuple(lines),
            published.source if published else self.said,
            remarks=(_sum_or_mean(couples, of_flows=_of_flows(results[0])), *self.remarks),
        )
        return replace(figure, checks=tuple(self.checks(figure)))

    def _further_lines(self, results: Sequence[Result]) -> Iterator[LossLine]:
        """Yield a line for each measured scheme that the paper leaves out, compared with its rescaling."""
        for scheme in sorted({run.scheme for run in results} - set(PAPERS_SCHEMES)):
            for line in self.lines:
                if line.label == RESCALING.name:
                    yield replace(line, label=scheme, scheme=scheme, curve=line.label)


def role_loss(flows: Sequence[FlowResult]) -> float | None:
    """Return the share that flows lose together; None if there was nothing to lose."""
    had = sum(flow.before if flow.sent is None else flow.sent for flow in flows)
    return 1 - sum(flow.after for flow in flows) / had if had > 0 else None


def mean_loss(flows: Sequence[FlowResult]) -> float | None:
    """Return the mean of the flows' own losses; None if none had anything to lose."""
    losses = [flow.loss for flow in flows if flow.loss is not None]
    return fmean(losses) if losses else None


def _per_cent(part: float | None) -> float | None:
    return None if part is None else 100 * part


def _of_flows(result: Result) -> bool:
    return reading_of(case_of(result)).average == "of flows"


def _sum_or_mean(couples: Sequence[tuple[Point, Point]], *, of_flows: bool) -> str:
    """Return a remark on whether the reading of "average loss" matters; couples are (joint loss, mean of flows)."""
    gaps = [
        (abs(together.value - each.value), together, each)
        for together, each in couples
        if together.value is not None and each.value is not None
    ]
    gap, together, each = max(gaps, key=lambda found: found[0], default=(0.0, Point(0.0), Point(0.0)))
    names = ("those of all flows of a role together", "the mean of each flow's own loss")
    (rule, other), (shown, instead) = (names[::-1], (each, together)) if of_flows else (names, (together, each))
    if gap <= _FLOW_MEANS_AGREE:
        return f"Losses are {rule}; {other} is within {_FLOW_MEANS_AGREE:g} percentage point of it."
    return (
        f"Losses are {rule}; {other} differs by up to {gap:.1f} percentage points"
        f" ({instead.value:.1f} instead of {shown.value:.1f} % at a demand of {shown.x})."
    )


def _at_most(figure: Exhibit, label: str, bound: float) -> Iterator[Check]:
    for point in figure.line(label).points:
        if point.value is not None:
            yield limit(f"{label}, loss in % at demand {point.x}", point.value, high=bound)


def _rises(figure: Exhibit, label: str) -> Iterator[Check]:
    values = [point.value for point in figure.line(label).points if point.value is not None]
    if len(values) > 1:
        fall = max(before - after for before, after in pairwise(values))
        yield order(f"{label}, largest fall in % from one demand to the next", fall, high=RISE_SLACK)


def _loses_more(figure: Exhibit, label: str, other: str, since: float) -> Iterator[Check]:
    for point in figure.line(label).points:
        beside = figure.line(other).at(point.x).value
        if point.value is not None and beside is not None and float(point.x) >= since:
            yield order(f"{label} less {other}, loss in % at demand {point.x}", point.value - beside, low=0.0)


def _spares_direct(most: float) -> Callable[[Exhibit], Iterator[Check]]:
    def checks(figure: Exhibit) -> Iterator[Check]:
        yield from _at_most(figure, "kuijia", most)
        yield from _rises(figure, "rescaling")
        yield from _loses_more(figure, "rescaling", "kuijia", 1.0)

    return checks


def _costs_victims(figure: Exhibit) -> Iterator[Check]:
    yield from _loses_more(figure, "kuijia", "rescaling", 1.0)


def _hardly_affected(figure: Exhibit) -> Iterator[Check]:
    for line in figure.lines:
        yield from _at_most(figure, line.label, 1.0)


def _low_class(figure: Exhibit) -> Iterator[Check]:
    """Yield the checks that Kuijia spares directly affected low flows and costs low victims, on full links."""
    yield from _at_most(figure, "direct, kuijia", 2.0)
    yield from _loses_more(figure, "direct, rescaling", "direct, kuijia", 1.0)
    yield from _loses_more(figure, "victims, kuijia", "victims, rescaling", 1.0)


def _by_scheme(traffic: Traffic, role: Role) -> tuple[LossLine, ...]:
    return tuple(LossLine(scheme, traffic, role, scheme) for scheme in PAPERS_SCHEMES)


_ONE_CLASS: tuple[Traffic, ...] = ("tcp", "udp")
_LOW_ROLES: tuple[tuple[str, Role], ...] = (("direct", "direct"), ("victims", "victim"))

LOSS_FIGURES = (
    LossFigure(
        "fig10",
        "throughput loss of TCP flows that a failure affects directly",
        "Figure 10",
        TCP_LOSS,
        _by_scheme("tcp", "direct"),
        _spares_direct(2.0),
    ),
    LossFigure(
        "fig11",
        "packet loss of UDP flows that a failure affects directly",
        "Figure 11",
        UDP_LOSS,
        _by_scheme("udp", "direct"),
        _spares_direct(2.5),
    ),
    LossFigure(
        "fig12", "throughput loss of TCP victims", "Figure 12", TCP_LOSS, _by_scheme("tcp", "victim"), _costs_victims
    ),
    LossFigure(
        "fig13", "packet loss of UDP victims", "Figure 13", UDP_LOSS, _by_scheme("udp", "victim"), _costs_victims
    ),
    LossFigure(
        "indirect",
        "loss of flows that a failure affects indirectly",
        "Section 5.2",
        "loss (%)",
        tuple(
            LossLine(f"{traffic}, {scheme}", traffic, "indirect", scheme)
            for traffic in _ONE_CLASS
            for scheme in PAPERS_SCHEMES
        ),
        _hardly_affected,
        ("The text has less than 1 % for rescaling and almost no effect for Kuijia.",),
    ),
    LossFigure(
        "fig14",
        "throughput loss of the low class of two: directly affected flows and victims",
        "Figure 14",
        TCP_LOSS,
        tuple(
            LossLine(f"{name}, {scheme}", "priorities", role, scheme, LOW)
            for name, role in _LOW_ROLES
            for scheme in PAPERS_SCHEMES
        ),
        _low_class,
        (
            "The paper's curves have no numbers that can be read.",
            "Under Kuijia victims of the high class are served before all low traffic, which loses what they take.",
        ),
        said="Zhang et al., Kuijia, section 5.4, in words",
    ),
)


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
    flows = {flow.name: flow for flow in _wanted(shown, first)}
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
    """Return by how many percentage points our means miss the published ones; without lines if any is unmeasured.

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


TOLERANCE = 3.0
"""Percentage points."""

_JUDGED = ("tcp", "udp")

MODELS = {"flow": ("flow model", "the fluid model"), "packet": ("packet simulator", "the packet simulator")}
"""Backends to compare with: their names in bars and in titles."""


def agreement(emulated: Sequence[Result], computed: Sequence[Result]) -> Exhibit | None:
    """Return emulated minus computed losses; None when the backends have no case in common."""
    backend = computed[0].backend if computed else "flow"
    model, titled = MODELS[backend]
    measured, modelled = ({case_of(run): run for run in runs if not run.invalid} for runs in (emulated, computed))
    common = sorted(measured.keys() & modelled.keys())
    demands = sorted({case.demand for case in common})
    lines, checks = [], []
    for name, whose in [(figure.name, line) for figure in LOSS_FIGURES for line in figure.lines]:
        label = f"{name}, {whose.label}"
        own = [case for case in common if (case.traffic, case.scheme) == (whose.traffic, whose.scheme)]
        gaps = (
            Point.of(demand, (_gap(whose, measured[case], modelled[case]) for case in own if case.demand == demand))
            for demand in demands
        )
        points = tuple(point for point in gaps if point.value is not None)
        if points:
            lines.append(Line(label, points))
        if whose.traffic in _JUDGED:
            checks += [
                Check(f"{label}, at demand {point.x}: emulation less {model}", point.value, -TOLERANCE, TOLERANCE)
                for point in points
                if point.value is not None
            ]
    if not lines:
        return None
    return Exhibit(
        "agreement",
        f"loss on switches less loss in {titled}",
        "Emulation and model",
        f"emulation less {backend}",
        AXIS,
        "percentage points",
        tuple(lines),
        checks=tuple(checks),
        remarks=(
            f"Means over the same {len(common)} runs of both; the bar is {TOLERANCE:g} percentage points.",
            "The lowest and highest single runs are shown beside the means; they have no bar.",
        ),
    )


def _gap(whose: LossLine, measured: Result, modelled: Result) -> float | None:
    """Return how much more one run loses on switches than in a model."""
    seen, said = whose.loss(measured), whose.loss(modelled)
    return None if seen is None or said is None else seen - said


def _wanted(case: Case, result: Result) -> tuple[WantedFlow, ...]:
    """Return the flows of a stored run."""
    plan = plan_of(case, result.capacity, result.seed)
    settings = result.manifest.get("settings")
    slots = settings.get("slots") if isinstance(settings, dict) else None
    return aggregates_of(plan, case.link, case.scheme, slots if slots in SLOT_COUNTS else DEFAULT_SLOT_COUNT)


def exhibits_of_files(files: Sequence[StoredFile]) -> tuple[Exhibit, ...]:
    """Return the exhibits of each backend, and their agreement with the emulation's where a folder has it.

    Raises:
        InputError: a result is no case of the evaluation, or runs were not measured alike.
    """
    stored = stored_results(files)
    for each in stored:
        _refuse_strange(each)
    by_backend = {backend: [result for _, result in runs] for backend, runs in refuse_mixtures(stored).items()}
    made = [exhibit for results in by_backend.values() for exhibit in exhibits_of(results)]
    for model in MODELS:
        if {"emulation", model} <= by_backend.keys():
            compared = agreement(by_backend["emulation"], by_backend[model])
            made += [compared] if compared is not None else []
    return tuple(made)


def _refuse_strange(stored: StoredResult) -> None:
    path, result = stored
    case = stored_case(result, path)
    if case.traffic == "priorities":  # only here are flows looked up by name
        refuse_flows(path, result, [flow.name for flow in _wanted(case, result)])
