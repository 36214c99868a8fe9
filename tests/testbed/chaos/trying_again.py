"""Tries again what a busy machine may have spoilt: the faults about each loss, or all if a command was not answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from testbed.chaos.faults import ChaosFault
from testbed.chaos.run import ChaosResult

BEFORE, AFTER = 15.0, 1.0
"""Seconds before a loss in which a fault may have begun that has to do with it, and after it."""

NEAR = 5.0
"""Seconds between a loss and a stall of the machine that may have had a part in it.

A stall is what one process saw that asked for a processor all the time; the switches may have waited for the other one.
"""

LONG = 0.25
"""Length of a stall, in seconds, from which on commands may not be answered in time.

A machine that did not answer for 20 s had stalls of up to 1.5 s; where all were answered, none was longer than .085 s.
"""


def was_disturbed(result: ChaosResult) -> bool:
    """Return True if the machine may be the cause of all that was found.

    These are losses, if it stalled at about the time of each of them, and errors, if it stalled for long.
    """
    timeline = result.timeline
    stalls = (*timeline.stalled, *timeline.starved, *timeline.overloaded)
    others = (result.late_takeovers, result.tables, result.leaks)
    if any(others) or result.twice:
        return False
    if result.errors:
        return any(end - start >= LONG for start, end in stalls)
    return all(
        any(start - NEAR <= each.loss.last and each.loss.first <= end + NEAR for start, end in stalls)
        for each in result.lost_without_excuse
    )


def faults_again(result: ChaosResult, quiet: float) -> tuple[ChaosFault, ...]:
    """Return the faults about the losses found, from the first of them on; all of them if there were errors.

    Args:
        result: of a run.
        quiet: seconds from its first probe until the time zero of its faults.
    """
    if result.errors:
        return result.faults
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


def _from_the_first(faults: Sequence[ChaosFault]) -> tuple[ChaosFault, ...]:
    start = min((fault.at for fault in faults), default=0.0)
    return tuple(replace(fault, at=fault.at - start) for fault in faults)
