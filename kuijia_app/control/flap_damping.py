"""Ports that go down and up again and again are held down until they calm down; pure, with the time passed in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, TypeVar

HALF_LIFE = 2.0
"""Seconds in which half of a port's penalty is forgiven."""

SUPPRESS = 3.5
"""A port with a greater penalty is held down; each time it goes down adds one."""

REUSE = 1.5
"""A port held down is let up again when its penalty has fallen to this."""

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
    """Decides when a port that has come up is to be believed, after the manner of RFC 2439.

    Going down is always believed at once, and so is coming up of a port that does not do so often.
    """

    def __init__(self) -> None:
        self._ports: dict[Name, _Port] = {}

    def observed(self, port: Name, now: float, *, live: bool) -> bool:
        """Take in that a port went down or came up; returns whether it is to be held for live."""
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
        """The ports that were held down though they had come up, and are so no longer."""
        free = []
        for name, state in self._ports.items():
            if state.held and _decayed(state, now) <= REUSE:
                state.held = False
                if state.live:
                    free.append(name)
        return free

    def is_held(self, port: Name) -> bool:
        """Return True while the port is held down, whatever the switch reports."""
        return port in self._ports and self._ports[port].held


class Lasting(Generic[Name]):
    """Tells what has been so for some time from what is so for a moment."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: dict[Name, float] = {}

    def observed(self, present: frozenset[Name], now: float) -> frozenset[Name]:
        """Take in what is so now; returns what of it has been so at each look for at least that long."""
        self._since = {name: self._since.get(name, now) for name in present}
        return frozenset(name for name, since in self._since.items() if now - since >= self._seconds)


def _decayed(state: _Port, now: float) -> float:
    return state.penalty * math.pow(2.0, -(now - state.at) / HALF_LIFE)
