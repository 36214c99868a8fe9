"""Table 4 under every combination of four choices that the paper leaves open about "stable throughput"; pure.

They are: whose throughput, judged flow by flow or in the sum, how far from the final one, and what the final one is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.gscale.cases import case_of
from experiments.gscale.convergence import FINAL_PART, Vector, means_at
from experiments.gscale.convergence_by_flow import FIRST, seconds_from
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import PublishedCurves, published_curves
from experiments.results.result import Result, Role

NAME = "table4-definitions"

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
        NAME,
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
