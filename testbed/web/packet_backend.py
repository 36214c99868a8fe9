"""The backend over the packet model: plans in compiled tables, TCP and queues, packet by packet, as they go on.

Roles of flows, dead tunnels and the log are those of the flow model, which is asked beside; goodput and queues are
counted. Where the machine is too slow, the clock runs slower than it should.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from kuijia_base.errors import InputError, KuijiaError
from te_solver.formats.plan_file import plan_from_json
from te_solver.model.plan import Plan
from te_solver.schemes.all_schemes import failure_scheme
from testbed.web.backend import (
    Action,
    ActionKind,
    ClockState,
    Description,
    Finding,
    LogEntry,
    SetClock,
    SetLink,
    SetNode,
    SetScheme,
    State,
    View,
    WithdrawPlan,
)
from testbed.web.flow_backend import FlowBackend, Solver
from testbed.web.packet_run import SteeredRun, layout_queues
from testbed.web.verifying import layout_for

STEP = 0.2
"""Seconds of a step, whose mean rates a state shows."""

_LONGEST_STEP = 0.5
_FIRST_STEP = 0.5
_PAUSE = 0.01
"""Least seconds between two steps, in which actions come in."""

_ACTIONS: tuple[ActionKind, ...] = ("links", "nodes", "demands", "plan", "scheme", "clock")


class PacketBackend:
    """A small network packet by packet; a thread of its own moves its time on.

    Args:
        plan: the plan in force at first.
        solve: makes a plan for other demands.
        schemes: failure schemes to show side by side, ones that switches can be programmed with.
        elastic: True for TCP, False for packets at a constant rate.
        wall: gives the seconds that pass.
        runs: True to start the thread; False for tests, which call `step`.
    """

    def __init__(  # the last ones by name
        self,
        plan: Plan,
        solve: Solver,
        schemes: Sequence[str],
        *,
        elastic: bool = True,
        wall: Callable[[], float] = time.monotonic,
        runs: bool = True,
    ) -> None:
        _require_on_switches(schemes)
        self._elastic, self._wall = elastic, wall
        self._time, self._clock = 0.0, ClockState(1.0, paused=False)
        self._model = FlowBackend(plan, solve, schemes, elastic=elastic, wall=lambda: self._time)
        self._stepping, self._ended = threading.Lock(), threading.Event()
        self._pool = ThreadPoolExecutor(max(2, len(schemes)), "packets")
        self._faults: tuple[str, ...] = ()
        self._views: tuple[View, ...] = ()
        self._layout = layout_for(plan)
        self._runs = self._started(plan, schemes)
        self.step(_FIRST_STEP)
        self._thread = threading.Thread(target=self._go_on, name="steps", daemon=True)
        if runs:
            self._thread.start()

    def describe(self) -> Description:
        described = self._model.describe()
        available = tuple(name for name in described.schemes_available if failure_scheme(name).is_precut)
        return replace(
            described,
            backend="packet",
            actions=_ACTIONS,
            queues=layout_queues(self._layout),
            dropped_unit="packets/s",
            schemes_available=available,
        )

    def state(self) -> State:
        return State(round(self._time, 3), self._views, faults=self._faults, clock=self._clock)

    def act(self, action: Action) -> dict[str, Any]:
        if isinstance(action, WithdrawPlan):
            raise KuijiaError("the packet model has always a plan: put another one in force")
        if isinstance(action, SetClock):
            return self._set_clock(action)
        if isinstance(action, SetScheme):
            _require_on_switches(action.schemes)
        if isinstance(action, SetLink | SetNode):
            with self._stepping:  # so that the log has the moment at which it happens
                done = self._model.act(action)
                for run in self._runs:
                    run.happen(action)
            return done
        done = self._model.act(action)
        with self._stepping:
            self._start_again()
        return done

    def events(self, after: int) -> list[LogEntry]:
        return self._model.events(after)

    def plan(self) -> dict[str, Any] | None:
        return self._model.plan()

    def topology(self) -> dict[str, Any]:
        return self._model.topology()

    def verify(self, plan: dict[str, Any]) -> list[Finding]:
        return self._model.verify(plan)

    def close(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self._pool.shutdown()

    def step(self, seconds: float) -> None:
        """Move all runs on by so many seconds of their time."""
        with self._stepping:
            windows = list(self._pool.map(lambda run: run.advance(seconds), self._runs))
            self._time += seconds
            views = {view.scheme: view for view in self._model.state().views}
            self._views = tuple(
                run.view(views[run.scheme], window) for run, window in zip(self._runs, windows, strict=True)
            )

    def _go_on(self) -> None:
        last = self._wall()
        while not self._ended.wait(max(_PAUSE, last + STEP - self._wall())):
            now = self._wall()
            elapsed, last = min(now - last, _LONGEST_STEP), now
            if not self._clock.paused:
                try:
                    self.step(elapsed * self._clock.speed)
                except Exception as error:  # noqa: BLE001  # browsers learn of it; there is nobody else to tell
                    self._faults = (f"the packet model failed: {type(error).__name__}: {error}",)
                    return

    def _started(self, plan: Plan, schemes: Sequence[str]) -> list[SteeredRun]:
        return [SteeredRun(plan, scheme, self._layout, elastic=self._elastic) for scheme in schemes]

    def _start_again(self) -> None:
        """Start the traffic of another plan, or schemes, on the network as it is."""
        data = self._model.plan()
        assert data is not None, "there is always a plan"
        plan = plan_from_json(data, "plan")
        self._layout = layout_for(plan)
        views = self._model.state().views
        runs = self._started(plan, [view.scheme for view in views])
        broken: list[Action] = [SetLink(link.id, up=False) for link in views[0].links if not link.up]
        broken += [SetNode(node, up=False) for node in views[0].nodes_down]
        for run in runs:
            for action in broken:
                run.happen(action)
            run.advance(_FIRST_STEP)
        self._runs = runs

    def _set_clock(self, action: SetClock) -> dict[str, Any]:
        if action.time is not None:
            raise InputError("request", "time", "a model cannot go to another time", "speed or paused")
        old = self._clock
        paused = old.paused if action.paused is None else action.paused
        self._clock = ClockState(action.speed or old.speed, paused=paused)
        return {"speed": self._clock.speed, "paused": paused}


def _require_on_switches(schemes: Sequence[str]) -> None:
    for name in schemes:
        if not failure_scheme(name).is_precut:
            raise InputError("request", "schemes", f"found {name}", "one that switches can be programmed with")
