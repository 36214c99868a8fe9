"""Measures how a cut interrupted a steady flow, without a clock shared by sender and receiver; pure.

Arrivals are compared with each other on the receiver's clock, and sending times on the sender's. The packets' numbers
relate the two.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # which only Linux can import
    from testbed.traffic.ticks import TickRecord

BEFORE_SECONDS, AFTER_SECONDS, RATE_SECONDS = 0.5, 1.5, 0.4
"""Seconds examined before and after the cut, and seconds at either end that give the packet rate."""

GUARD_SECONDS = 0.01
"""Seconds before the cut that are left out; the last arrivals may be part of the interruption."""


@dataclass(frozen=True)
class Silence:
    """Time between two successive events, on their clock."""

    start: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class Interruption:
    """Interruption of a flow; times in seconds.

    Attributes:
        gap: longest time without an arrival that ended after the cut.
        gap_before: longest time without an arrival before the cut, caused by the machines alone.
        sender_pause: longest time between two packets sent, before and after the cut.
        sender_pause_in_gap: the same, between the last packet that arrived before the gap and the first after it.
        lost: lost packets of the whole flow.
        before, after: packets per second that arrived before the cut and at the end.
    """

    gap: float
    gap_before: float
    sender_pause: float
    sender_pause_in_gap: float
    lost: int
    before: float
    after: float


def longest_silence(times: Sequence[float], start: float, end: float) -> Silence:
    """Return the longest time between two successive events, among those that overlap `start` to `end`.

    Args:
        times: in ascending order.
        start: on the same clock.
        end: on the same clock.

    Raises:
        ValueError: no event up to `start`, or none after it.
    """
    if not times or times[0] > start or times[-1] <= start:
        raise ValueError("there are no events on both sides of the start")
    silences = (Silence(*pair) for pair in pairwise(times) if pair[1] > start and pair[0] < end)
    return max(silences, key=lambda silence: silence.length)


def interruption(record: TickRecord, cut_at: float) -> Interruption:
    """Return the interruption that a cut caused.

    Args:
        record: record of the flow.
        cut_at: earliest possible time of the cut on the receiver's clock. If the cut came later, the length of its gap
            stays right, but a longer silence just before the cut would be taken for the gap.

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
    """Return the longest time between two packets sent, on the sender's clock.

    Considers the packets from the last that had arrived by `start` to the first that arrived at `end` or later.
    """
    arrivals = [at for _, at in record.arrivals]
    first, last = bisect_right(arrivals, start) - 1, bisect_left(arrivals, end)
    numbers = [number for number, _ in record.arrivals[first : last + 1]]
    sent_at = record.sent_at[min(numbers) : max(numbers) + 1]
    return max((later - earlier for earlier, later in pairwise(sent_at)), default=0.0)


def _rate_until(end: float, arrivals: Sequence[float]) -> float:
    return sum(end - RATE_SECONDS < at <= end for at in arrivals) / RATE_SECONDS
