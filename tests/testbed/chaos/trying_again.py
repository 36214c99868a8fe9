"""Tries again what a busy machine may have spoilt: the faults about each loss that it was not fit to judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from testbed.chaos.faults import Fault
from testbed.chaos.run import ChaosResult

BEFORE, AFTER = 15.0, 1.0
"""Seconds before a loss in which a fault may have begun that has to do with it, and after it."""

NEAR = 1.0
"""Seconds between a loss and a stall of the machine that may have had a part in it."""


def was_disturbed(result: ChaosResult) -> bool:
    """Return True if losses are all that was found, and this machine stalled at about the time of each of them."""
    timeline = result.timeline
    stalls = (*timeline.stalled, *timeline.starved, *timeline.overloaded)
    lost = result.lost_without_excuse
    others = (result.late_takeovers, result.tables, result.leaks, result.errors)
    return not (any(others) or result.twice) and all(
        any(start - NEAR <= each.loss.last and each.loss.first <= end + NEAR for start, end in stalls) for each in lost
    )


def faults_near(result: ChaosResult, quiet: float) -> tuple[Fault, ...]:
    """Return the faults about the losses found, from the first of them on.

    Args:
        result: of a run.
        quiet: seconds from its first probe until the time zero of its faults.
    """
    times = [
        (each.loss.first - result.began - quiet, each.loss.last - result.began - quiet)
        for each in result.lost_without_excuse
    ]
    chosen = [
        fault
        for fault in result.faults
        if any(first - BEFORE <= fault.at + fault.seconds and fault.at <= last + AFTER for first, last in times)
    ]
    return _from_the_first(chosen)


def _from_the_first(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    start = min((fault.at for fault in faults), default=0.0)
    return tuple(replace(fault, at=fault.at - start) for fault in faults)
