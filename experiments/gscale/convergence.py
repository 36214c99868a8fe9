"""Table 4's question: how long after a failure until the throughput of all flows is stable; pure.

Goodput is taken in means over three seconds, the first beginning at the cut, the next with every interval of the series
after it. (Means over one show receivers that read late, which make two outliers that cancel out.) A flow is stable from
the first mean on from which all lie within a band around its final one: that of the last third of the time that is
watched after the cut. The band is 5 % of it, but at least 25 % of what the flow offers: as much as the goodput of TCP
flows that share a full link goes up and down for ever. The paper does not say what it takes to be stable.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.result import FlowResult, Result, Series

MEAN_SECONDS = 3.0
FINAL_PART = 1 / 3
OF_FINAL, OF_OFFERED = 0.05, 0.25

Vector = NDArray[np.float64]


def convergence_seconds(result: Result, of_offered: float = OF_OFFERED) -> float | None:
    """Seconds from the cut until the last of the affected flows is stable: victims, directly and indirectly affected.

    The whole time from the cut to the end of the window after it when one is not stable even when the last third
    begins; None without a series over that time.
    """
    affected = [flow for flow in result.flows if flow.role != "aboriginal"]
    times = [seconds_to_stable(flow, result.failure.at, result.after.end, of_offered) for flow in affected]
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


def settles(result: Result) -> bool:
    """Whether all affected flows become stable while they are watched."""
    seconds = convergence_seconds(result)
    return seconds is not None and seconds < result.after.end - result.failure.at


def seconds_to_stable(flow: FlowResult, cut: float, end: float, of_offered: float = OF_OFFERED) -> float | None:
    """Seconds from `cut` until a flow is stable, `end - cut` when it is not; None for a series that is too short.

    Both times are in the time of the flow's series; the band is at least `of_offered` of what the flow offers.
    """
    starts, means = means_after(flow.series, cut, end)
    last_third = end - FINAL_PART * (end - cut)
    final = means[starts >= last_third]
    if final.size == 0:
        return None
    level = float(final.mean())
    band = max(OF_FINAL * level, of_offered * flow.offered)
    outside = starts[np.abs(means - level) > band]
    if outside.size == 0:
        return 0.0
    if outside[-1] >= last_third:
        return end - cut
    return float(starts[starts > outside[-1]][0] - cut)


def means_after(series: Series, cut: float, end: float) -> tuple[Vector, Vector]:
    """Where each mean after the cut begins, in the time of the series, and its Mbit/s; none beyond the series."""
    start, stop = np.asarray(series.start), np.asarray(series.end)
    if not stop.size:
        return stop, stop
    starts = np.concatenate([[cut], start[start > cut]])
    starts = starts[starts + MEAN_SECONDS <= min(end, float(stop[-1]))]
    edges = np.append(start, stop[-1])
    carried = np.concatenate([[0.0], np.cumsum((stop - start) * np.asarray(series.goodput))])
    means = np.interp(starts + MEAN_SECONDS, edges, carried) - np.interp(starts, edges, carried)
    return starts, means / MEAN_SECONDS
