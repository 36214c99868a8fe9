"""A limit on a rate, with short bursts; pure, with the time passed in."""

from __future__ import annotations


class Allowance:
    """Allows `rate` a second and `burst` at once; times are in seconds of one clock."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._at = now

    def take(self, now: float, cost: float = 1.0) -> bool:
        """Use one and return True; return False if none is left. A cost above one is paid off afterwards."""
        if not self.has_any(now):
            return False
        self._left -= cost
        return True

    def has_any(self, now: float) -> bool:
        self._left = min(self._left + (now - self._at) * self._rate, self._burst)
        self._at = now
        return self._left >= 1.0
