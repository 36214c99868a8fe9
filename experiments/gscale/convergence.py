"""Table 4's question: how long after a failure until the throughput of all flows is stable; pure.

Goodput is taken in means over one second, beginning at the cut and then every interval of the series. Of the time after
the cut the last third is the *final phase*. A flow is stable from the first mean on from which all lie in its band: its
mean in the final phase, give or take the largest of

- 5 % of that mean, for flows that come to a steady rate;
- 5 % of what it offers, for flows that are starved;
- three standard deviations of its means in the final phase, for flows that share full links: TCP's window goes up and
  down there for ever, which is what stable means for it.

The paper does not say what it takes to be stable.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from experiments.result import FlowResult, Result, Series

MEAN_SECONDS = 1.0
FINAL_PART = 1 / 3
TOLERANCE = 0.05
DEVIATIONS = 3.0

Vector = NDArray[np.float64]


def convergence_seconds(result: Result) -> float | None:
    """Seconds from the cut until the last of the affected flows is stable: victims, directly and indirectly affected.

    Time runs from the cut to the end of the window after it; None without a series over it.
    """
    affected = [flow for flow in result.flows if flow.role != "aboriginal"]
    return _last(seconds_to_stable(flow, result.failure.at, result.after.end) for flow in affected)


def seconds_to_stable(flow: FlowResult, cut: float, end: float) -> float | None:
    """Seconds from `cut` until a flow is stable, both in the time of its series; None when that is too short."""
    starts, means = one_second_means(flow.series, cut, end)
    final = means[starts >= end - FINAL_PART * (end - cut)]
    if final.size == 0:
        return None
    level = float(final.mean())
    band = max(TOLERANCE * level, TOLERANCE * flow.offered, DEVIATIONS * float(final.std()))
    outside = np.flatnonzero(np.abs(means - level) > band)
    return 0.0 if outside.size == 0 else float(starts[min(outside[-1] + 1, starts.size - 1)] - cut)


def one_second_means(series: Series, cut: float, end: float) -> tuple[Vector, Vector]:
    """Where each mean begins, in the time of the series, and its Mbit/s; none that the series does not cover."""
    start, stop = np.asarray(series.start), np.asarray(series.end)
    covered = min(end, float(stop[-1])) if stop.size else cut
    later = start[(start > cut) & (start + MEAN_SECONDS <= covered)]
    starts = np.concatenate([[cut], later]) if cut + MEAN_SECONDS <= covered else np.empty(0)
    edges = np.append(start, stop[-1:])
    carried = np.concatenate([[0.0], np.cumsum((stop - start) * np.asarray(series.goodput))])
    if not starts.size:
        return starts, starts
    until = np.interp(starts + MEAN_SECONDS, edges, carried)
    return starts, (until - np.interp(starts, edges, carried)) / MEAN_SECONDS


def _last(seconds: Iterable[float | None]) -> float | None:
    known = list(seconds)
    found = [each for each in known if each is not None]
    return max(found) if found and len(found) == len(known) else None
