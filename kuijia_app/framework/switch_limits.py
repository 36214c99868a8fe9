"""Limits on what a switch may send before its connection is given up, and on how often that is reported; pure."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

MOST_ENTRIES = 100_000
"""Entries of one description: ports, groups and flow entries of ours, or flows that are counted. A switch of a larger
plan may have `ENTRIES_PER_WANTED` times as many as are wanted of it, as plans before are on it, too."""

ENTRIES_PER_WANTED = 4

MOST_STRANGERS = 10_000
"""Flow entries of one description that carry our cookie but match by fields that no rule of ours has: each takes half
a millisecond to find out whether a message can name it."""

ANSWER_WITHIN = 10.0
"""Seconds without any progress after which a switch that owes answers is given up, like one that owes echoes."""

READ_WITHIN = 60.0
"""Seconds after which a switch is given up that goes on describing itself without an end."""

FIRST_PAUSE = 10.0
LONGEST_PAUSE = 3600.0
"""Seconds between two reports of the same trouble: the first pause, which doubles, and the longest."""

_LONGEST_STEP = 0.5
"""Seconds that one look may add: when more have passed it was this process that stood still."""


class SwitchFaultError(Exception):
    """A switch does what no switch may do: its connection is dropped, and nothing of ours is at fault."""


class Patience:
    """Decide when an answer has been owed for too long, from looks taken again and again."""

    def __init__(self) -> None:
        self._looked_at: float | None = None
        self._progress = -1
        self._silent_for = 0.0
        self._reading_for = 0.0

    def lost(self, now: float, progress: int, *, is_owed: bool, is_reading: bool) -> str | None:
        """Take one look; return in words what has taken too long, None while nothing has.

        Args:
            now: seconds of any clock.
            progress: a number that changes with every answer.
            is_owed: whether an answer is owed.
            is_reading: whether what is owed is the description of a switch.
        """
        step = 0.0 if self._looked_at is None else min(now - self._looked_at, _LONGEST_STEP)
        self._looked_at = now
        self._silent_for = self._silent_for + step if is_owed and progress == self._progress else 0.0
        self._reading_for = self._reading_for + step if is_reading else 0.0
        self._progress = progress
        if self._silent_for >= ANSWER_WITHIN:
            return f"has owed an answer for {ANSWER_WITHIN:g} s"
        if self._reading_for >= READ_WITHIN:
            return f"has not ended its description of itself within {READ_WITHIN:g} s"
        return None


@dataclass
class _Trouble:
    due_at: float
    pause: float
    unreported: int = 0


class BackOff:
    """Decide which occurrences of a trouble to report: the first at once, more at intervals that double.

    A trouble that has not occurred for twice its pause begins anew. At most `_MOST` troubles are remembered.
    """

    _MOST = 1000

    def __init__(self) -> None:
        self._troubles: dict[Hashable, _Trouble] = {}

    def occurred(self, name: Hashable, now: float) -> int | None:
        """Return how many occurrences this report stands for, itself included; None when it is too soon for one."""
        trouble = self._troubles.get(name)
        if trouble is None or now >= trouble.due_at + 2 * trouble.pause:
            unreported = 0 if trouble is None else trouble.unreported
            self._troubles.pop(name, None)
            if len(self._troubles) >= self._MOST:
                del self._troubles[next(iter(self._troubles))]
            self._troubles[name] = _Trouble(now + FIRST_PAUSE, FIRST_PAUSE)
            return unreported + 1
        trouble.unreported += 1
        if now < trouble.due_at:
            return None
        reported, trouble.unreported = trouble.unreported, 0
        trouble.pause = min(2 * trouble.pause, LONGEST_PAUSE)
        trouble.due_at = now + trouble.pause
        return reported
