"""Table 4: the time TCP takes to reach stable throughput, for each failing link and each demand; pure.

The paper does not define stability. The table itself is flow by flow, as the form of the published numbers suggests;
beside it are the same table for victims, and one that judges the flows of a role together.

The goodput of all flows of a role together is judged: victims, directly and indirectly affected ones. (A single TCP
flow on a full link is never steady.) It is averaged over one second at a time, starting at the cut. A role is stable
from the first mean that, with all later ones, stays within 5 % of its offered load around its final goodput, the mean
over the last third of the time watched after the cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.gscale.cases import AXIS, LINKS, case_of
from experiments.gscale.models import PAPER_CAPACITY, ROUND_TRIP
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import PublishedCurves, published_curves
from experiments.results.result import Check, FlowResult, Result, Role, Series
from experiments.results.score import limit, order

MEAN_SECONDS = 1.0
STEP_SECONDS = 0.2
FINAL_PART = 1 / 3
TOLERANCE = 0.05
"""Tolerance as a share of the offered load; a share of the goodput would be impossible for victims that starve."""

Vector = NDArray[np.float64]


def convergence_seconds(result: Result) -> float | None:
    """Return the seconds from the cut until the last affected role is stable.

    The whole time from the cut to the end of the window after it if a role is still unstable when the last third
    begins; None without a series over that time, or if no flow is affected.
    """
    return _last(result, _roles(result))


def own_band_seconds(result: Result) -> float | None:
    """Return the same time for a band of `TOLERANCE` of each role's own final goodput."""
    return _last(result, _roles(result), of_final=True)


def spared_convergence_seconds(result: Result) -> float | None:
    """Return the same time for directly and indirectly affected flows alone, without the victims."""
    return _last(result, [flows for flows in _roles(result) if flows[0].role != "victim"])


def flow_convergence_seconds(result: Result) -> float | None:
    """Return the same time if every affected flow must be stable by itself."""
    return _last(result, [[flow] for flow in result.flows if flow.role != "aboriginal"])


def settles(result: Result) -> bool:
    """Return True if all affected roles become stable while they are watched."""
    seconds = convergence_seconds(result)
    return seconds is not None and seconds < result.after.end - result.failure.at


def seconds_to_stable(flows: Sequence[FlowResult], cut: float, end: float, *, of_final: bool = False) -> float | None:
    """Return the seconds from `cut` until some flows together are stable, `end - cut` if they never are.

    Both times are in the time of the flows' series; None if one of these is too short. The band is a share of the
    offered load or, with `of_final`, of the final goodput.
    """
    starts = means_from(cut, end)
    found = [means_at(flow.series, starts) for flow in flows]
    last_third = starts >= end - FINAL_PART * (end - cut)
    if not last_third.any() or any(means is None for means in found):
        return None
    means = np.sum([means for means in found if means is not None], axis=0)
    final = float(means[last_third].mean())
    band = TOLERANCE * (final if of_final else sum(flow.offered for flow in flows))
    outside = np.flatnonzero(np.abs(means - final) > band)
    if outside.size == 0:
        return 0.0
    if last_third[outside[-1]]:
        return end - cut
    return float(starts[outside[-1] + 1] - cut)


def means_from(cut: float, end: float) -> Vector:
    """Return the start times of the means from `cut` to `end`."""
    return cut + STEP_SECONDS * np.arange(np.floor((end - cut - MEAN_SECONDS) / STEP_SECONDS + 1e-9) + 1)


def means_at(series: Series, starts: Vector) -> Vector | None:
    """Return the means that begin at these times, in Mbit/s; None if the series is too short."""
    if not series.end or not starts.size or starts[-1] + MEAN_SECONDS > series.end[-1] + STEP_SECONDS:
        return None
    begun, ended = np.asarray(series.start), np.asarray(series.end)
    edges = np.append(begun, ended[-1])
    carried = np.concatenate([[0.0], np.cumsum((ended - begun) * np.asarray(series.goodput))])
    means = np.interp(starts + MEAN_SECONDS, edges, carried) - np.interp(starts, edges, carried)
    return np.asarray(means / MEAN_SECONDS, dtype=np.float64)


def _roles(result: Result) -> Iterator[Sequence[FlowResult]]:
    for role in ("victim", "direct", "indirect"):
        flows = [flow for flow in result.flows if flow.role == role]
        if flows:
            yield flows


def _last(result: Result, groups: Iterable[Sequence[FlowResult]], *, of_final: bool = False) -> float | None:
    cut, end = result.failure.at, result.after.end
    times = [seconds_to_stable(flows, cut, end, of_final=of_final) for flows in groups]
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


OWN_TOLERANCE = 0.3
"""Tolerance as a share of a flow's final goodput; fitted to the published times."""

STRICTER = 0.2
"""Another one, for comparison."""

FIRST = MEAN_SECONDS
"""Seconds of a flow that is stable at once: the paper prints <1."""


def seconds_by_flow(result: Result, role: Role = "direct", tolerance: float = OWN_TOLERANCE) -> float | None:
    """Return the mean of the seconds that each flow of a role takes; None without such flows or without series."""
    times = [flow_seconds(flow, result.failure.at, result.after.end, tolerance) for flow in _members(result, role)]
    known = [time for time in times if time is not None]
    return fmean(known) if known and len(known) == len(times) else None


def restless_flows(result: Result, role: Role = "direct", tolerance: float = OWN_TOLERANCE) -> int:
    """Return the number of flows of a role that are outside their tolerance at the end."""
    cut, end = result.failure.at, result.after.end
    return sum(
        flow_seconds(flow, cut, end, tolerance) == seconds_from(cut, end).size for flow in _members(result, role)
    )


def flow_seconds(flow: FlowResult, cut: float, end: float, tolerance: float = OWN_TOLERANCE) -> float | None:
    """Return the whole seconds from `cut` until a flow is stable, `FIRST` at least; None if its series is too short.

    A flow that is outside its tolerance in the last second takes all of the time.
    """
    starts = seconds_from(cut, end)
    means = means_at(flow.series, starts)
    if means is None:
        return None
    final = float(means[-round(FINAL_PART * means.size) :].mean())
    outside = np.flatnonzero(np.abs(means - final) > tolerance * final)
    return max(FIRST, float(outside[-1] + 1)) if outside.size else FIRST


def _members(result: Result, role: Role) -> Iterator[FlowResult]:
    return (flow for flow in result.flows if flow.role == role)


def seconds_from(cut: float, end: float) -> Vector:
    """Return the start times of one mean after the other from `cut` to `end`."""
    return np.asarray(cut + MEAN_SECONDS * np.arange(np.floor((end - cut) / MEAN_SECONDS + 1e-9)), dtype=np.float64)


QUICK, HEAVY = 1.0, 1.2
"""Kuijia's median must be at most `QUICK` seconds up to a demand of `HEAVY`."""

WELL_BELOW = 0.5
"""Bar for Kuijia's median relative to rescaling's beyond that demand."""

MEAN_DEVIATION = 4.0
"""Bar for rescaling's mean deviation from the published times, in seconds."""

RESCALING, KUIJIA = PAPERS_SCHEMES
_LIGHT, _LONG = 0.8, 10.0
"""Demand that overloads no link, and seconds beyond which victims are counted as slow."""

_Seconds = Callable[[Result], float | None]

_VARIANTS: tuple[tuple[str, _Seconds], ...] = (
    ("as here", convergence_seconds),
    (f"within {TOLERANCE:.0%} of each role's own final goodput", own_band_seconds),
    ("directly and indirectly affected flows alone", spared_convergence_seconds),
    ("each single flow, which on a full link never rests", flow_convergence_seconds),
)


def table_4(results: Sequence[Result]) -> Exhibit:
    """Return the table, flow by flow, from the TCP runs of one class among the results; there must be at least one."""
    runs = _tcp(results)
    published = published_curves("table4")
    lines = _lines(runs, seconds_by_flow, restless_flows, published.at)
    stricter = _lines(runs, lambda run: seconds_by_flow(run, tolerance=STRICTER), lambda _: 0, published.at)
    table = Exhibit(
        "table4",
        "time from the failure until the throughput of directly affected TCP flows is stable",
        "Table 4",
        runs[0].backend,
        AXIS,
        "seconds",
        lines,
        published.source,
        remarks=(
            *_by_flow(runs),
            *_fitted(lines, stricter),
            *_slow_victims(runs),
            "Where the paper prints <1, 1 is shown.",
        ),
    )
    return replace(table, checks=tuple(_checks(table)))


def victims_table(results: Sequence[Result]) -> Exhibit:
    """Return the same table for victims, of which the paper says nothing."""
    runs = _tcp(results)
    return Exhibit(
        "table4-victims",
        "time from the failure until the throughput of TCP victims is stable",
        "Table 4",
        runs[0].backend,
        AXIS,
        "seconds",
        _lines(runs, lambda run: seconds_by_flow(run, "victim"), lambda run: restless_flows(run, "victim")),
        remarks=(*_by_flow(runs, "victim"), *_slow_victims(runs)),
    )


def roles_table(results: Sequence[Result]) -> Exhibit:
    """Return the table under another definition: goodput of each role together, victims included."""
    runs = _tcp(results)
    return Exhibit(
        "table4-roles",
        "time from the failure until the throughput of all affected TCP flows is stable, by role",
        "Table 4",
        runs[0].backend,
        AXIS,
        "seconds",
        _lines(runs, convergence_seconds, lambda run: int(not settles(run))),
        remarks=tuple(_by_role(runs)),
    )


def _tcp(results: Sequence[Result]) -> list[Result]:
    return [run for run in results if case_of(run).traffic == "tcp"]


def _lines(
    runs: Sequence[Result],
    seconds_of: _Seconds,
    restless: Callable[[Result], int],
    published: Callable[[str, float], float | None] = lambda *_: None,
) -> tuple[Line, ...]:
    """Return a line for each scheme and link; times of runs in which something is restless are lower bounds."""
    demands = sorted({case_of(run).demand for run in runs})
    lines = []
    for scheme, link in product(PAPERS_SCHEMES, LINKS):
        label = f"{scheme}, {'-'.join(link)}"
        points = []
        for demand in demands:
            own = [
                run for run in runs if (run.scheme, case_of(run).link, case_of(run).demand) == (scheme, link, demand)
            ]
            point = Point.of(demand, map(seconds_of, own), published(label, demand))
            points.append(replace(point, at_least=point.value is not None and any(map(restless, own))))
        lines.append(Line(label, tuple(points)))
    return tuple(lines)


def _by_flow(runs: Sequence[Result], role: Role = "direct") -> Iterator[str]:
    yield (
        "The paper does not say what stable means. Here each flow is judged by itself: in means over a second from the"
        f" cut on, it stays within {OWN_TOLERANCE:.0%} of its own final goodput, the mean over the last third of the"
        " time watched. A number is the mean over flows."
    )
    yield from _model(runs)
    count = sum(sum(flow.role == role for flow in run.flows) for run in runs)
    restless = sum(restless_flows(run, role) for run in runs)
    if restless:
        yield (
            f"{restless} of {count} flows of all runs were not stable at the end; they count with all of the time, and"
            " numbers they are part of are marked as lower bounds."
        )


def _fitted(lines: Sequence[Line], stricter: Sequence[Line]) -> Iterator[str]:
    ours, others = _mean_deviation(lines), _mean_deviation(stricter)
    if ours is not None and others is not None:
        yield (
            f"The tolerance was fitted: with {OWN_TOLERANCE:.0%}, {RESCALING} is {ours:.1f} s from the published times"
            f" in the mean, with {STRICTER:.0%} {others:.1f} s."
        )


def _slow_victims(runs: Sequence[Result]) -> Iterator[str]:
    times = [
        time
        for run in runs
        if run.scheme == KUIJIA
        and case_of(run).demand > _LIGHT
        and (time := seconds_by_flow(run, "victim")) is not None
    ]
    if times:
        slow = sum(time >= _LONG for time in times)
        yield (
            f"The table is not about victims: under {KUIJIA} they take {_LONG:g} s or more in {slow} of {len(times)}"
            f" runs with demands above {_LIGHT:g}."
        )


def _by_role(runs: Sequence[Result]) -> Iterator[str]:
    yield (
        "Another definition of stable: the goodput of victims together, of directly and of indirectly affected flows,"
        f" in means over one second, stays as near to its final value as {TOLERANCE:.0%} of what they offer."
    )
    yield from _model(runs)
    variants = [f"{meaning} {medians}" for meaning, of in _VARIANTS if (medians := _medians(runs, of))]
    if variants:
        yield f"The medians of all runs, by what is to be stable: {'; '.join(variants)}."
    restless = [run for run in runs if not settles(run)]
    if restless:
        watched = max(run.after.end - run.failure.at for run in restless)
        share = 1 - FINAL_PART
        yield (
            f"In {len(restless)} of {len(runs)} runs something had not settled after {share:.0%} of the time it was"
            f" watched; they count with all of that, {watched:.0f} s, and take at least as long:"
            " numbers they are part of are marked as lower bounds."
        )


def _model(runs: Sequence[Result]) -> Iterator[str]:
    if runs[0].backend == "flow":
        yield (
            f"In the model flows climb by a segment for each round trip of {1000 * ROUND_TRIP:g} ms, which is assumed,"
            f" on links of {PAPER_CAPACITY / 1000:g} Gbit/s; the seconds grow with the square of the round trip. Losses"
            " before a failure is detected halve the rate of victims under both schemes."
        )


def _medians(runs: Sequence[Result], seconds_of: _Seconds) -> str:
    """Return the median of each scheme's runs, in words; empty if none is known."""
    medians = []
    for scheme in PAPERS_SCHEMES:
        own = [run for run in runs if run.scheme == scheme]
        known = [time for time in map(seconds_of, own) if time is not None]
        if known:
            middle, watched = median(known), min(run.after.end - run.failure.at for run in own)
            medians.append(f"{scheme} {'>= ' if middle >= watched else ''}{middle:.1f} s")
    return ", ".join(medians)


def _checks(table: Exhibit) -> Iterator[Check]:
    for demand in map(float, table.columns):
        rescaling, kuijia = (_median(table, scheme, demand) for scheme in PAPERS_SCHEMES)
        if kuijia is None:
            continue
        if demand <= HEAVY:
            yield limit(f"kuijia, median of the links in s at demand {demand}", kuijia, high=QUICK)
        elif rescaling:
            name = f"kuijia to rescaling, medians of the links, at demand {demand}"
            yield order(name, kuijia / rescaling, high=WELL_BELOW)
    deviation = _mean_deviation(table.lines)
    if deviation is not None:
        yield limit("rescaling, mean deviation from the published times in s", deviation, high=MEAN_DEVIATION)


def _median(table: Exhibit, scheme: str, demand: float) -> float | None:
    values = [line.at(demand).value for line in table.lines if line.label.startswith(f"{scheme}, ")]
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _mean_deviation(lines: Sequence[Line]) -> float | None:
    """Return the mean absolute deviation of rescaling's times from the published ones, None if there are none."""
    deviations = [
        abs(point.deviation)
        for line in lines
        if line.label.startswith(f"{RESCALING}, ")
        for point in line.points
        if point.deviation is not None
    ]
    return fmean(deviations) if deviations else None


DEFINITIONS = "table4-definitions"

WHOSE: Mapping[str, tuple[Role, ...]] = {
    "direct": ("direct",),
    "victims": ("victim",),
    "direct and victims": ("direct", "victim"),
    "all flows": ("direct", "victim", "indirect", "aboriginal"),
}
HOW = ("mean of flows", "slowest flow", "in the sum")
TOLERANCES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
"""Shares of the final throughput."""

FINALS: Mapping[str, Callable[[int], int]] = {
    "the last third": lambda seconds: round(FINAL_PART * seconds),
    "the last five seconds": lambda seconds: min(5, seconds),
}
"""Mean that is the final throughput, as the number of seconds at the end of the time watched."""

WITHIN = 4.0
"""Seconds of mean deviation from the published times within which a definition fits."""

_Key = tuple[str, str, float, str]


@dataclass(frozen=True)
class _Deviation:
    rescaling: float
    kuijia: float


def definitions_table(results: Sequence[Result]) -> Exhibit:
    """Return the mean deviation of rescaling's times from the published ones, by definition and tolerance."""
    found = _deviations(results, published_curves("table4"))
    shown = next(iter(FINALS))
    lines = [
        Line(
            f"{whose}, {how}",
            tuple(
                Point(f"{tolerance:.0%}", found[whose, how, tolerance, shown].rescaling)
                for tolerance in TOLERANCES
                if (whose, how, tolerance, shown) in found
            ),
        )
        for whose, how in product(WHOSE, HOW)
    ]
    return Exhibit(
        DEFINITIONS,
        "mean deviation of rescaling's times from the published ones, by what is stable",
        "Table 4",
        results[0].backend,
        "tolerance around the final throughput",
        "seconds",
        tuple(line for line in lines if line.points),
        remarks=tuple(_told(found, shown)),
    )


def _told(found: Mapping[_Key, _Deviation], shown: str) -> Iterator[str]:
    fitting = [key for key, deviation in found.items() if deviation.rescaling <= WITHIN]
    both = [key for key in fitting if found[key].kuijia <= WITHIN]
    yield (
        f"{len(found)} definitions were tried: these with {shown} as the final throughput, and the same with"
        f" {' and '.join(final for final in FINALS if final != shown)}."
    )
    yield (
        f"{len(fitting)} of them are within {WITHIN:g} s of the published times in the mean under rescaling,"
        f" {len(both)} under both schemes."
    )


def _deviations(results: Sequence[Result], published: PublishedCurves) -> dict[_Key, _Deviation]:
    """Return the mean deviations of both schemes, of definitions with times under both."""
    cells: dict[tuple[str, str, float], list[dict[_Key, float]]] = {}
    for result in results:
        case = case_of(result)
        if case.scheme in PAPERS_SCHEMES:
            cells.setdefault((case.scheme, "-".join(case.link), case.demand), []).append(_seconds(result))
    gaps: dict[_Key, dict[str, list[float]]] = {}
    for (scheme, link, demand), runs in cells.items():
        theirs = published.at(f"{scheme}, {link}", demand)
        for key in {key for run in runs for key in run} if theirs is not None else ():
            ours = fmean(run[key] for run in runs if key in run)
            gaps.setdefault(key, {}).setdefault(scheme, []).append(abs(ours - (theirs or 0.0)))
    order = [key for key in product(WHOSE, HOW, TOLERANCES, FINALS) if len(gaps.get(key, {})) == len(PAPERS_SCHEMES)]
    return {key: _Deviation(*(fmean(gaps[key][scheme]) for scheme in PAPERS_SCHEMES)) for key in order}


def _seconds(result: Result) -> dict[_Key, float]:
    """Return the seconds of a run by every definition that has flows."""
    starts = seconds_from(result.failure.at, result.after.end)
    means = [(flow.role, found) for flow in result.flows if (found := means_at(flow.series, starts)) is not None]
    times: dict[_Key, float] = {}
    for (whose, roles), (final, last) in product(WHOSE.items(), FINALS.items()):
        own = [found for role, found in means if role in roles]
        if not own:
            continue
        of_flows = np.array([stable_seconds(found, last(found.size)) for found in own])
        by_how = (of_flows.mean(axis=0), of_flows.max(axis=0), stable_seconds(np.sum(own, axis=0), last(starts.size)))
        for how, by_tolerance in zip(HOW, by_how, strict=True):
            times |= {
                (whose, how, tolerance, final): float(time)
                for tolerance, time in zip(TOLERANCES, by_tolerance, strict=True)
            }
    return times


def stable_seconds(means: Vector, last: int) -> NDArray[np.float64]:
    """Return, for each tolerance, the seconds until all later means are within it of the mean of the `last` ones."""
    final = means[-last:].mean()
    outside = np.abs(means - final)[None, :] > np.array(TOLERANCES)[:, None] * final
    after_last = means.size - np.argmax(outside[:, ::-1], axis=1)
    return np.where(outside.any(axis=1), np.maximum(FIRST, after_last), FIRST).astype(np.float64)
