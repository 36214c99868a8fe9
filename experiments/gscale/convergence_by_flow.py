"""Table 4 flow by flow: the whole seconds until a flow stays near its own final goodput; pure.

The published times are quarters for 2-3 and 10-11 and sixths for 7-9. Means over four and six flows are of this kind if
each flow's time is in whole seconds. So here each flow is judged by itself, in one mean per second from the cut on. It
is stable from the first mean that, with all later ones, stays within a share of its own final goodput, the mean over
the last third of the time watched.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

import numpy as np

from experiments.gscale.convergence import FINAL_PART, MEAN_SECONDS, Vector, means_at
from experiments.results.result import FlowResult, Result, Role

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
