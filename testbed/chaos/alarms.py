"""Judges controllers by themselves: alarms about packets that vanish without a fault, and ends of their own. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.chaos.faults import LINK_DOWN, STANDSTILL_KINDS, SWITCH_WIPED
from testbed.chaos.timeline import FaultSpan

SEEN_WITHIN = 5.0
"""Seconds after the end of a fault in which counters may still show what it cost."""


@dataclass(frozen=True)
class Alarm:
    """A controller's statement that packets vanish between two neighbours; seconds as in the time line."""

    at: float
    sender: str
    receiver: str
    text: str


@dataclass(frozen=True)
class OwnEnd:
    """The end of a controller that nobody had killed: when it was seen, and why as far as is known."""

    at: float
    number: int
    reason: str


def false_alarms(alarms: Sequence[Alarm], spans: Sequence[FaultSpan]) -> tuple[Alarm, ...]:
    """Return the alarms about links on which no fault of the run can have cost packets."""
    return tuple(each for each in alarms if not any(_explains(span, each) for span in spans))


def _explains(span: FaultSpan, alarm: Alarm) -> bool:
    if not span.overlaps(alarm.at - SEEN_WITHIN, alarm.at):
        return False
    ends = {alarm.sender, alarm.receiver}
    is_on_link = span.kind in LINK_DOWN and ends == set(span.subject)
    return is_on_link or span.kind in STANDSTILL_KINDS or (span.kind == SWITCH_WIPED and span.subject[0] in ends)
