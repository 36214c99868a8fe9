"""How far a clock elsewhere is ahead of ours, estimated from answers to when it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

_EXCHANGES = 8
_MOST_PRECISE_CLOCK = 0.001


@dataclass(frozen=True)
class ClockOffset:
    """How far a clock is ahead of ours, in seconds; `error` is half of the quickest answer's way."""

    offset: float
    error: float


OUR_CLOCK = ClockOffset(0.0, 0.0)


def clock_offset(exchanges: Sequence[tuple[float, float, float]]) -> ClockOffset:
    """From times at which a box was asked, its answers, and the times at which they had come (RFC 5905, section 8)."""
    asked, answer, come = min(exchanges, key=lambda exchange: exchange[2] - exchange[0])
    error = max((come - asked) / 2, _MOST_PRECISE_CLOCK / 2)
    return ClockOffset(answer - (asked + come) / 2, error)


def ask_clock(theirs: Callable[[], float], ours: Callable[[], float]) -> ClockOffset:
    """Ask a clock some times; both are in seconds."""
    exchanges = []
    for _ in range(_EXCHANGES):
        asked = ours()
        exchanges.append((asked, theirs(), ours()))
    return clock_offset(exchanges)
