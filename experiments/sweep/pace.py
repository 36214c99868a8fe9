"""Estimates the remaining time of a sweep from the cases finished while it ran."""

from __future__ import annotations

SHORTEST = 2.0
"""Seconds after the first case before a pace can be judged: processes finish their first cases all at once."""


class Pace:
    """Pace of `total` cases; the time until the first one is finished does not count, as workers have to start."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._first: tuple[int, float] | None = None

    def left(self, done: int, now: float) -> float | None:
        """Return the seconds until all cases are done, None if not known yet; to be called after each case.

        Args:
            done: number of finished cases.
            now: seconds from any origin.
        """
        if self._first is None:
            self._first = (done, now)
        first, since = self._first
        if done == first or now - since < SHORTEST:
            return None
        return (now - since) / (done - first) * (self._total - done)


def duration(seconds: float) -> str:
    """Return a time in words: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
