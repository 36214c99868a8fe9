"""Decides when a switch that has refused its tables is asked to take them again; pure, with the time passed in."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 300.0
"""Seconds: the first pause, which doubles, and the longest. A switch that was full may have room again."""


@dataclass
class _Chance:
    due_at: float
    pause: float
    is_under_way: bool = False


class SecondChances:
    """Switches that have refused their tables, with the time of the next attempt of each."""

    def __init__(self) -> None:
        self._chances: dict[str, _Chance] = {}

    def refused(self, switch: str, now: float) -> None:
        """Note that a switch has refused its tables, for the first time or again."""
        before = self._chances.get(switch)
        pause = FIRST_PAUSE
        if before is not None:
            pause = min(2 * before.pause, LONGEST_PAUSE) if before.is_under_way else before.pause
        self._chances[switch] = _Chance(now + pause, pause)

    def due(self, now: float) -> list[str]:
        """Return the switches to be asked again now; each has one chance until it refuses again."""
        found = [name for name, each in self._chances.items() if not each.is_under_way and now >= each.due_at]
        for name in found:
            self._chances[name].is_under_way = True
        return found

    def has_one(self, switch: str) -> bool:
        """Return True while a switch is asked again."""
        return switch in self._chances and self._chances[switch].is_under_way

    def forget(self, switch: str) -> None:
        """Forget a switch that has its tables, or connects again."""
        self._chances.pop(switch, None)

    @property
    def is_empty(self) -> bool:
        return not self._chances
