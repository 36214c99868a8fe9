"""Table 4's question: the time from a failure until the throughput of all flows is stable; pure.

The goodput of all flows of a role together is judged: victims, directly and indirectly affected ones. (A single TCP
flow on a full link is never steady.) It is averaged over one second at a time, starting at the cut. A role is stable
from the first mean that, with all later ones, stays within 5 % of its offered load around its final goodput, the mean
over the last third of the time watched after the cut. The paper does not define stability.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from experiments.results.result import FlowResult, Result, Role, Series

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
