"""How long the rest of a sweep takes, judged by the cases that were finished while it ran."""

from __future__ import annotations

SHORTEST = 2.0
"""Seconds after the first case from which on the others tell a pace: processes finish their first ones all at once."""


class Pace:
    """Of `total` cases; the time until the first one is finished is not counted, as workers have to start."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._first: tuple[int, float] | None = None

    def left(self, done: int, now: float) -> float | None:
        """Seconds until all are done, to be asked after each case; None as long as nobody can tell.

        Args:
            done: cases that are finished.
            now: seconds, from any beginning.
        """
        if self._first is None:
            self._first = (done, now)
        first, since = self._first
        if done == first or now - since < SHORTEST:
            return None
        return (now - since) / (done - first) * (self._total - done)


def duration(seconds: float) -> str:
    """A time as people say it: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
