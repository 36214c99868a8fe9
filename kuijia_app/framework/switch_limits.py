"""Limits beyond which a switch's connection is given up, and on how often that is reported; pure."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

MOST_ENTRIES = 100_000
"""Entries that a switch may describe at a time: ports, groups and our flow entries, or counted flows. A switch of a
larger plan may have `ENTRIES_PER_WANTED` times its wanted number, because it may still hold earlier plans."""

ENTRIES_PER_WANTED = 4

MOST_UNKNOWN_ENTRIES = 10_000
"""Described flow entries with our cookie and match fields that none of our rules has: for each the check whether a
message can name it takes half a millisecond."""

REREADS_RATE = 0.5
REREADS_BURST = 8.0
"""Descriptions asked of one switch because it has refused a message: so many at once, then so many a second. Each costs
the work of a new connection."""

ANSWER_WITHIN = 10.0
"""Seconds without progress after which a switch that owes answers is given up, like one that owes echo replies."""

READ_WITHIN = 60.0
"""Seconds after which a switch is given up that does not finish its description."""

FIRST_PAUSE = 10.0
LONGEST_PAUSE = 3600.0
"""Seconds between two reports of the same fault: the first interval, which doubles, and the longest."""

LONGEST_STEP = 0.5
"""Seconds that one look may add: if more have passed, it was this process that stood still."""


def repeated(times: int) -> str:
    """Return the end of a line about something that has happened several times, as `BackOff` counts them."""
    return f" ({times} times)" if times > 1 else ""


class SwitchFaultError(Exception):
    """A switch breaks the rules: its connection is dropped; the application is not at fault."""


class Patience:
    """Decides when a switch has owed an answer for too long, from looks at regular intervals."""

    def __init__(self) -> None:
        self._looked_at: float | None = None
        self._progress = -1
        self._silent_for = 0.0
        self._reading_for = 0.0

    def lost(self, now: float, progress: int, *, is_owed: bool, is_reading: bool) -> str | None:
        """Take one look; return the fault of the switch in words, None while it is in time.

        Args:
            now: seconds of any clock.
            progress: a number that changes with every answer.
            is_owed: True while the switch owes an answer.
            is_reading: True while it owes parts of its description.
        """
        step = 0.0 if self._looked_at is None else min(now - self._looked_at, LONGEST_STEP)
        self._looked_at = now
        self._silent_for = self._silent_for + step if is_owed and progress == self._progress else 0.0
        self._reading_for = self._reading_for + step if is_reading else 0.0
        self._progress = progress
        if self._silent_for >= ANSWER_WITHIN:
            return f"has owed an answer for {ANSWER_WITHIN:g} s"
        if self._reading_for >= READ_WITHIN:
            return f"has not finished the description of its tables within {READ_WITHIN:g} s"
        return None


@dataclass
class _Trouble:
    due_at: float
    pause: float
    unreported: int = 0


class BackOff:
    """Decides which occurrences of a fault to report: the first at once, later ones at intervals that double.

    A fault that has not occurred for twice its interval counts as new. At most `_MOST` faults are remembered.
    """

    _MOST = 1000

    def __init__(self) -> None:
        self._troubles: dict[Hashable, _Trouble] = {}

    def occurred(self, name: Hashable, now: float) -> int | None:
        """Return the occurrences since the last report, this one included; None if it is too early for a report."""
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
