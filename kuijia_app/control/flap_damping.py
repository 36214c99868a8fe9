"""Holds ports down that go down and up again and again, until they calm down; pure, with the time passed in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, TypeVar

HALF_LIFE = 2.0
"""Seconds in which a port's penalty falls by half."""

SUPPRESS = 3.5
"""Penalty above which a port is held down; each time it goes down adds one."""

REUSE = 1.5
"""Penalty at which a port that is held down is released."""

CEILING = 6.0
"""The greatest penalty: no port is held down longer than it takes to fall from here to `REUSE`, four seconds."""

Name = TypeVar("Name")


@dataclass
class _Port:
    penalty: float = 0.0
    at: float = 0.0
    live: bool = True
    held: bool = False


class FlapDamping(Generic[Name]):
    """Decides when to trust a port that has come up, after RFC 2439.

    A port that goes down is trusted at once, and so is one that comes up, unless it has gone down often.
    """

    def __init__(self) -> None:
        self._ports: dict[Name, _Port] = {}

    def observed(self, port: Name, now: float, *, live: bool) -> bool:
        """Record that a port went down or came up; return True if it counts as live."""
        state = self._ports.setdefault(port, _Port(at=now))
        state.penalty, state.at = _decayed(state, now), now
        if state.live and not live:
            state.penalty = min(state.penalty + 1, CEILING)
            state.held = state.held or state.penalty > SUPPRESS
        state.live = live
        state.held = state.held and state.penalty > REUSE
        return live and not state.held

    def described(self, port: Name, *, live: bool) -> bool:
        """Take in the state in which the switch describes a port; return whether the port is to be held for live."""
        state = self._ports.get(port)
        if state is None:
            return live
        state.live = live
        return live and not state.held

    def released(self, now: float) -> list[Name]:
        """Release ports whose penalty has fallen; return those that are up."""
        free = []
        for name, state in self._ports.items():
            if state.held and _decayed(state, now) <= REUSE:
                state.held = False
                if state.live:
                    free.append(name)
        return free

    def doubted(self) -> frozenset[Name]:
        """Return the ports that are held down although they are up."""
        return frozenset(name for name, state in self._ports.items() if state.held and state.live)

    def is_held(self, port: Name) -> bool:
        """Return True while the port is held down, whatever the switch reports."""
        return port in self._ports and self._ports[port].held


class Lasting(Generic[Name]):
    """Finds the conditions that have lasted for some time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: dict[Name, float] = {}

    def observed(self, present: frozenset[Name], now: float) -> frozenset[Name]:
        """Record the conditions that hold now; return those that have held at each look for at least `seconds`."""
        self._since = {name: self._since.get(name, now) for name in present}
        return frozenset(name for name, since in self._since.items() if now - since >= self._seconds)


def _decayed(state: _Port, now: float) -> float:
    return state.penalty * math.pow(2.0, -(now - state.at) / HALF_LIFE)
