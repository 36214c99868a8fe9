"""Offset of a remote clock from ours, estimated from its answers and the times of the requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

_EXCHANGES = 8
_MOST_PRECISE_CLOCK = 0.001


@dataclass(frozen=True)
class ClockOffset:
    """Offset of a clock from ours in seconds; `error` is half of the shortest round trip."""

    offset: float
    error: float


OUR_CLOCK = ClockOffset(0.0, 0.0)


def clock_offset(exchanges: Sequence[tuple[float, float, float]]) -> ClockOffset:
    """Return the offset from request times, the answers, and their arrival times (RFC 5905, section 8)."""
    asked, answer, come = min(exchanges, key=lambda exchange: exchange[2] - exchange[0])
    error = max((come - asked) / 2, _MOST_PRECISE_CLOCK / 2)
    return ClockOffset(answer - (asked + come) / 2, error)


def ask_clock(theirs: Callable[[], float], ours: Callable[[], float]) -> ClockOffset:
    """Return the offset of a clock, asked several times; both clocks are in seconds."""
    exchanges = []
    for _ in range(_EXCHANGES):
        asked = ours()
        exchanges.append((asked, theirs(), ours()))
    return clock_offset(exchanges)
