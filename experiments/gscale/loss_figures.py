"""Losses of flows by their role in a failure: figures 10 to 14 and the indirectly affected flows; pure.

The loss of a run is that of all flows of a role together: for TCP as a share of their goodput before the failure, for
UDP as a share of the packets sent after it. A figure shows means over the failing links and the repetitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.gscale.case_plan import reading_of
from experiments.gscale.cases import HIGH, LOW, Traffic, case_of
from experiments.results.bars import limit, order
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_curves
from experiments.results.result import Check, FlowResult, Result, Role

AXIS = "demand of each pair, in parts of a link"
TCP_LOSS, UDP_LOSS = "throughput loss (%)", "packet loss (%)"

RISE_SLACK = 1.0
"""Per cent by which a rising curve may fall from one demand to the next, as there are few draws of pairs."""

_FLOW_MEANS_AGREE = 1.0
"""Per cent within which the loss of the sum and the mean of the flows' own losses count as equal."""


@dataclass(frozen=True)
class LossLine:
    """Flows of a line: a role under a scheme, with one kind of traffic, of one class."""

    label: str
    traffic: Traffic
    role: Role
    scheme: str
    priority: int = HIGH

    def members(self, result: Result) -> list[FlowResult]:
        return [flow for flow in result.flows if (flow.role, flow.priority) == (self.role, self.priority)]

    def loss(self, result: Result) -> float | None:
        """Return the loss in per cent, joint or the mean of flows by the reading; None if they had nothing to lose."""
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
        for each in self.lines:
            runs = [run for run in results if (case_of(run).traffic, run.scheme) == (each.traffic, each.scheme)]
            points = []
            for demand in sorted({case_of(run).demand for run in runs}):
                at_demand = [run for run in runs if case_of(run).demand == demand]
                found = [each.members(run) for run in at_demand]
                drawn = published.at(each.label, demand) if published else None
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


def role_loss(flows: Sequence[FlowResult]) -> float | None:
    """Return the share that flows lose together; None if they had nothing to lose."""
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
    """Yield the checks that Kuijia spares directly affected low flows and costs low victims, where links are full."""
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
