"""Judges controllers: takeovers in time, alarms about packets that vanish without a fault, ends of their own. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.chaos.faults import (
    CONTROLLER_FROZEN,
    CONTROLLER_KILLED,
    HANDOVER,
    LINK_DOWN,
    PEER_KINDS,
    STANDBY_KILLED,
    STANDSTILL_KINDS,
    SWITCH_WIPED,
    SWITCHES_KILLED,
    FaultSpan,
    FaultTimeline,
)

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


LIMITS = {CONTROLLER_KILLED: 1.5, CONTROLLER_FROZEN: 3.0, HANDOVER: 1.5}
"""Seconds until another controller must act."""

_CONNECTING = 12.0
"""Seconds after a controller's start in which switches may not have found it: Open vSwitch waits up to 8 s between two
attempts."""


@dataclass(frozen=True)
class Takeover:
    """The end of one controller's part, and the seconds until another acted; None if none did while it was away.

    `is_judged` is False where nobody was able to take over in time.
    """

    kind: str
    at: float
    seconds: float | None
    is_judged: bool

    @property
    def is_late(self) -> bool:
        return self.is_judged and (self.seconds is None or self.seconds > LIMITS[self.kind])


def takeovers(timeline: FaultTimeline, taken: Sequence[float]) -> tuple[Takeover, ...]:
    """Return what followed on each death, and on each freeze that was longer than a takeover may take.

    Args:
        timeline: what was broken, and when this machine stalled; a stall does not count.
        taken: times at which a controller began to act.
    """
    found = []
    for span in timeline.of(LIMITS):
        limit = LIMITS[span.kind]
        after = min((at for at in taken if at > span.start), default=None)
        if after is None or after > span.end + limit:
            if span.kind != HANDOVER and span.end - span.start < limit:
                continue  # it was back before another had to act
            after = None
        seconds = None if after is None else after - span.start - timeline.stood_still(span.start, after)
        found.append(Takeover(span.kind, span.start, seconds, _had_successor(timeline, span, limit)))
    return tuple(found)


def _had_successor(timeline: FaultTimeline, ended: FaultSpan, limit: float) -> bool:
    """Return True if the other controller was connected and the switches answered; a handover also needs a word."""
    at = ended.start
    restarted = any(
        span.end <= at < span.end + _CONNECTING or span.start < at < span.end
        for span in timeline.of((CONTROLLER_KILLED, STANDBY_KILLED))
    )
    standing = any(
        span.overlaps(at - _CONNECTING if span.kind == SWITCHES_KILLED else at - 1.0, at + limit)
        for span in timeline.of(STANDSTILL_KINDS)
    )
    unheard = any(span.overlaps(at - 1.0, at + limit) for span in timeline.of((CONTROLLER_FROZEN, *PEER_KINDS)))
    return not (restarted or standing or (ended.kind == HANDOVER and unheard))
