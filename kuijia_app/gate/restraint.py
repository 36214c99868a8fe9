"""A word about each kind of thing no more than once in a while, however often it happens; pure, the time passed in."""

from __future__ import annotations

from collections import Counter
from typing import Final

_MOST_KINDS: Final = 256
_OTHERS: Final = "others"


class Restraint:
    """Says which of the things that happen are to be spoken of: one of each kind in `period` seconds."""

    def __init__(self, period: float) -> None:
        self._period = period
        self._next: dict[str, float] = {}
        self._unsaid: Counter[str] = Counter()

    def may_say(self, kind: str, now: float) -> int | None:
        """Count one; return how many of its kind went unspoken since the last that did not, None if this one shall."""
        if kind not in self._next and len(self._next) >= _MOST_KINDS:
            self._forget_old(now)
            if len(self._next) >= _MOST_KINDS:
                kind = _OTHERS
        if now < self._next.get(kind, now):
            self._unsaid[kind] += 1
            return None
        self._next[kind] = now + self._period
        return self._unsaid.pop(kind, 0)

    def _forget_old(self, now: float) -> None:
        for kind in [kind for kind, at in self._next.items() if at <= now]:
            del self._next[kind]
            self._unsaid.pop(kind, None)
