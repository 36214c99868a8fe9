"""What a cut did to a steady flow, told without a clock that its sender and its receiver share; pure.

Arrivals are compared among each other, on the receiver's clock, and so are the times at which packets were sent, on the
sender's. What the two have to do with each other the packets' numbers say.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from testbed.ticks import TickRecord

BEFORE_SECONDS, AFTER_SECONDS, RATE_SECONDS = 0.5, 1.5, 0.4
"""What is looked at before and after the cut, and how much at either end of it gives the packets per second."""

GUARD_SECONDS = 0.01
"""Before the cut; the last arrivals may be part of the interruption."""


@dataclass(frozen=True)
class Silence:
    """The time between two successive events, on their clock."""

    start: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class Interruption:
    """Times in seconds.

    Attributes:
        gap: the longest time without an arrival that ended after the cut.
        gap_before: the longest time without an arrival before the cut: what the machines alone do.
        sender_pause: the longest time between two packets sent, before and after the cut.
        sender_pause_in_gap: the same, from the last packet that arrived before the gap to the first after it.
        lost: packets of the whole flow.
        before, after: packets that arrived in a second, before the cut and at the end.
    """

    gap: float
    gap_before: float
    sender_pause: float
    sender_pause_in_gap: float
    lost: int
    before: float
    after: float


def longest_silence(times: Sequence[float], start: float, end: float) -> Silence:
    """The longest time between two successive events, of all such times that overlap `start` to `end`.

    Args:
        times: in order.
        start: on the same clock.
        end: likewise.

    Raises:
        ValueError: there is no event up to `start`, or none after it.
    """
    if not times or times[0] > start or times[-1] <= start:
        raise ValueError("there are no events on both sides of the start")
    silences = (Silence(*pair) for pair in pairwise(times) if pair[1] > start and pair[0] < end)
    return max(silences, key=lambda silence: silence.length)


def interruption(record: TickRecord, cut_at: float) -> Interruption:
    """What a cut did to a flow.

    Args:
        record: of the flow.
        cut_at: the earliest that the cut may have been, on the receiver's clock. If it was later, only how the gap is
            told from other silences suffers, not its length: one just before the cut is taken for it if it is longer.

    Raises:
        ValueError: no packets arrived before the cut, or none after it.
    """
    arrivals = [at for _, at in record.arrivals]
    start, end = cut_at - BEFORE_SECONDS, cut_at + AFTER_SECONDS
    gap = longest_silence(arrivals, cut_at, end)
    return Interruption(
        gap=gap.length,
        gap_before=longest_silence(arrivals, start, cut_at - GUARD_SECONDS).length,
        sender_pause=_sender_pause(record, start, end),
        sender_pause_in_gap=_sender_pause(record, gap.start, gap.end),
        lost=record.lost,
        before=_rate_until(cut_at, arrivals),
        after=_rate_until(end, arrivals),
    )


def _sender_pause(record: TickRecord, start: float, end: float) -> float:
    """The longest time between two packets sent, told on the sender's clock.

    They are those from the last that had arrived at `start` to the first that arrived from `end` on, on the receiver's.
    """
    arrivals = [at for _, at in record.arrivals]
    first, last = bisect_right(arrivals, start) - 1, bisect_left(arrivals, end)
    numbers = [number for number, _ in record.arrivals[first : last + 1]]
    sent_at = record.sent_at[min(numbers) : max(numbers) + 1]
    return max((later - earlier for earlier, later in pairwise(sent_at)), default=0.0)


def _rate_until(end: float, arrivals: Sequence[float]) -> float:
    return sum(end - RATE_SECONDS < at <= end for at in arrivals) / RATE_SECONDS
