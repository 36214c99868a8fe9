"""Decides which new connections are taken in when more come than can be served; pure, with the time passed in."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from kuijia_app.gate.limits import LIMITS, Limits
from kuijia_app.gate.rates import Allowance

_PAUSE: Final = 1.0
"""Seconds after which an origin that comes again counts as one that has just come."""


class Doorway:
    """Takes in connections of all origins while they are few; otherwise those of three kinds, each up to a rate.

    These are any connections, those of origins that have not come for a moment, and those of origins from which a
    switch has been admitted. So neither a few origins that connect all the time nor many that connect once keep a
    switch out that comes back.
    """

    def __init__(self, now: float, limits: Limits = LIMITS) -> None:
        rate, burst = limits.accepted_rate, limits.accepted_burst
        self._any, self._new, self._old = (Allowance(rate, burst, now) for _ in range(3))
        self._most = limits.origins_remembered
        self._came_at: OrderedDict[str, float] = OrderedDict()
        self._familiar: OrderedDict[str, None] = OrderedDict()

    def admits(self, origin: str, now: float) -> bool:
        """Return True if a new connection from there is taken in."""
        came_at = self._came_at.pop(origin, None)
        self._came_at[origin] = now
        if len(self._came_at) > self._most:
            self._came_at.popitem(last=False)
        if origin in self._familiar and self._old.take(now):
            return True
        is_new = came_at is None or now - came_at >= _PAUSE
        return self._any.take(now) or (is_new and self._new.take(now))

    def is_familiar(self, origin: str) -> bool:
        """Return True if a switch of the application has been admitted from there."""
        return origin in self._familiar

    def admitted(self, origin: str) -> None:
        """Note that a switch of the application has been admitted from there."""
        self._familiar[origin] = None
        self._familiar.move_to_end(origin)
        if len(self._familiar) > self._most:
            self._familiar.popitem(last=False)
