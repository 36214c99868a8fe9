"""The backend that plays a recording back: its only action is to set the clock."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from kuijia_base.errors import InputError, KuijiaError
from simulator.live.states import ClockState, LogEntry, SimulatedClock
from testbed.web.backend import Action, Description, Finding, SetClock, State
from testbed.web.recording import Recorded

_NO_LAB = "a recording has no lab: it only shows"


class ReplayBackend:
    """Shows what was recorded, at its own speed or another one; at the end it stays at the last state.

    Args:
        recorded: the recording.
        speed: recorded seconds in a second.
        wall: gives the seconds that pass.
    """

    def __init__(self, recorded: Recorded, speed: float = 1.0, wall: Callable[[], float] = time.monotonic) -> None:
        self._recorded = recorded
        self._clock = SimulatedClock(wall)
        self._clock.set(speed, None)
        self._state_at = lru_cache(8)(recorded.states)

    def describe(self) -> Description:
        return replace(self._recorded.description_at(self._position()), backend="replay", actions=("clock",))

    def state(self) -> State:
        state = self._state_at(self._position())
        return replace(state, clock=self._clock_state())

    def act(self, action: Action) -> dict[str, Any]:
        if not isinstance(action, SetClock):
            raise KuijiaError(_NO_LAB)
        first, last = self._recorded.moments[0], self._recorded.moments[-1]
        moment = action.time
        if moment is not None and not first <= moment <= last:
            raise InputError("request", "time", f"found {moment:g}", f"a time of the recording, {first:g} to {last:g}")
        if moment is None and self._is_over() and action.paused is False:
            moment = first  # to go on after the end is to begin again
        self._clock.set(action.speed, action.paused, None if moment is None else moment - first)
        state = self._clock_state()
        return {"speed": state.speed, "paused": state.paused, "time": self._now()}

    def events(self, after: int) -> list[LogEntry]:
        now = self._now()
        return [entry for entry in self._recorded.log if entry.seq > after and entry.time <= now]

    def plan(self) -> dict[str, Any] | None:
        return None

    def topology(self) -> dict[str, Any]:
        described = self.describe()
        ends = [(each, ends) for each in described.links for ends in ((each.a, each.b), (each.b, each.a))]
        return {
            "name": described.name,
            "nodes": [node.name for node in described.nodes],
            "links": [
                {"source": source, "target": target, "capacity": each.capacity, "delay": 0.0}
                for each, (source, target) in ends
            ],
        }

    def verify(self, plan: dict[str, Any]) -> list[Finding]:
        del plan
        raise KuijiaError(_NO_LAB)

    def close(self) -> None:
        pass

    def _now(self) -> float:
        return self._recorded.moments[0] + self._clock.now()

    def _is_over(self) -> bool:
        return self._now() >= self._recorded.moments[-1]

    def _position(self) -> int:
        return max(0, bisect_right(self._recorded.moments, self._now() + 1e-9) - 1)

    def _clock_state(self) -> ClockState:
        state = self._clock.state
        return ClockState(state.speed, paused=state.paused or self._is_over())
