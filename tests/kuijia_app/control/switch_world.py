"""Switches around an application, with a clock and slices of their own, all driven step by step."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from hedera.scheduling.events import ROUND
from hedera.scheduling.messages import COUNTING_COOKIE
from kuijia_app.control import switch_application
from kuijia_app.control.sliced_work import SLICE, SlicedWork
from kuijia_app.framework import event_log, guarded_app
from tests.kuijia_app.control.applications import Application
from tests.kuijia_app.control.model_switch import Box, ModelSwitch

PICK = st.integers(0, 100)
"""Picks one of several things, which the network or its state has."""

STEPS = st.sampled_from((0.05, 0.05, 0.3, 1.0, 3.0))
_ROUNDS = 100
"""Of answers and ticks, after which all has to be quiet."""

_CALM = 6.0
"""Seconds of quiet after which no port is held down and no plan is retired any more."""


class SwitchWorld(RuleBasedStateMachine):
    """Rules on switches and the clock, for either application, which `_made` makes.

    A tick does one short step of the work that was put off. The test fails when anything raises, when a message is sent
    on a connection that has ended, when a switch was given reason for an error, and when one is called ready too early.
    """

    def __init__(self, clocked: ModuleType) -> None:
        super().__init__()
        self.now = 1000.0
        self.events: Counter[str] = Counter()
        self.rig = ExitStack()
        self._slice_clock = 0.0
        self._is_slow = True
        self.unfit: set[str] = set()
        patched = self.rig.enter_context(pytest.MonkeyPatch.context())
        clock = SimpleNamespace(monotonic=lambda: self.now, time=time.time, perf_counter=time.perf_counter)
        for module in (clocked, switch_application, guarded_app):
            patched.setattr(module, "time", clock)
        folder = Path(self.rig.enter_context(TemporaryDirectory(prefix="kj")))
        self.application = self._made(folder)
        patched.setattr(self.application._runtime, "log", SimpleNamespace(write=self._write))
        patched.setattr(self.application._runtime, "close", lambda datapath: datapath.close())
        self.application._runtime.sliced_work = SlicedWork(self._look, lambda: None)
        wiring = self.application.switches.wiring
        self.boxes = [
            Box(name, wiring.datapath_id(name), dict.fromkeys(range(1, max(wiring.ports(name)) + 1), True))
            for name in wiring.topology.nodes
        ]
        self.present: dict[str, ModelSwitch] = {}
        self.replaced: list[ModelSwitch] = []

    @abstractmethod
    def _made(self, folder: Path) -> Application:
        """Make the application, with files in a folder."""

    @abstractmethod
    def _promised(self, box: Box) -> str:
        """Return in words what a switch that is called ready lacks."""

    @abstractmethod
    def _tick(self) -> None:
        """Have the application handle a tick of its clock."""

    @abstractmethod
    def _work_aside(self) -> None:
        """Do what threads in the background do, and hand it over."""

    @abstractmethod
    def _require_right(self) -> None:
        """Fail unless all is as it should be once every switch is connected and all is quiet."""

    @initialize(is_up=st.booleans())
    def come_up(self, is_up: bool) -> None:  # noqa: FBT001  # drawn
        """All switches connect and are programmed, or none has yet."""
        if is_up:
            for box in self.boxes:
                self._connect(box, knows_bundles=True)
            self._calm_down()

    @rule(pick=PICK, knows_bundles=st.booleans())
    def connect(self, pick: int, knows_bundles: bool) -> None:  # noqa: FBT001  # drawn
        """A switch connects, perhaps while its connection before is not known to have ended."""
        self._connect(self._box(pick), knows_bundles=knows_bundles)

    @rule(pick=PICK, restarts=st.booleans())
    def leave(self, pick: int, restarts: bool) -> None:  # noqa: FBT001  # drawn
        """A switch's connection ends, perhaps as it restarts empty."""
        box = self._box(pick)
        if restarts:
            box.restart()
        self._end(self.present.pop(box.name, None))

    @rule(pick=PICK, most=st.sampled_from((1, 1, 2, 5, 1000)))
    def answer(self, pick: int, most: int) -> None:
        """A switch does and answers some of what it was sent."""
        owing = [each for each in self.present.values() if each.unanswered]
        if owing:
            owing[pick % len(owing)].answer(most)

    @rule()
    def everyone_answers(self) -> None:
        for each in self.present.values():
            each.answer()

    @rule(pick=PICK)
    def late_words(self, pick: int) -> None:
        """A connection that was replaced still answers, and then ends."""
        if self.replaced:
            late = self.replaced.pop(pick % len(self.replaced))
            late.answer()
            self._end(late)

    @rule(pick=PICK, port=PICK, live=st.booleans())
    def port(self, pick: int, port: int, live: bool) -> None:  # noqa: FBT001  # drawn
        """One end of a link goes down or comes up."""
        box = self._box(pick)
        ports = sorted(self.application.switches.wiring.ports(box.name))
        self._port_goes(box, ports[port % len(ports)], live=live)

    @rule(pick=PICK, live=st.booleans())
    def link(self, pick: int, live: bool) -> None:  # noqa: FBT001  # drawn
        wiring = self.application.switches.wiring
        edges = sorted(wiring.topology.edges)
        a, b = edges[pick % len(edges)]
        for one, other in ((a, b), (b, a)):
            self._port_goes(self.box_of(one), wiring.port(one, other), live=live)

    @rule(pick=PICK)
    def flap(self, pick: int) -> None:
        """A port goes down and comes up until it is held down."""
        box = self._box(pick)
        port = min(self.application.switches.wiring.ports(box.name))
        for live in (False, True) * 4:
            self._port_goes(box, port, live=live)

    @rule(pick=PICK, is_full=st.booleans())
    def fill(self, pick: int, is_full: bool) -> None:  # noqa: FBT001  # drawn
        """A switch has no room for more groups from now on, or has again."""
        self._box(pick).is_full = is_full

    @rule(step=STEPS)
    def time_passes(self, step: float) -> None:
        self.now += step
        self._tick()

    def teardown(self) -> None:
        try:
            self._settle()
            self._require_right()
        finally:
            self.rig.close()

    def box_of(self, name: str) -> Box:
        return next(box for box in self.boxes if box.name == name)

    def _settle(self) -> None:
        """Let everybody say and do all they have to, until nothing happens any more."""
        self.unfit.clear()
        for box in self.boxes:
            box.is_full = False
            self._end(self.present.pop(box.name, None))
            self._connect(box, knows_bundles=box.knows_bundles)
        while self.replaced:
            self.late_words(0)
        self._calm_down()

    def _calm_down(self) -> None:
        self._is_slow = False
        quiet_since = self.now
        for _ in range(_ROUNDS):
            before = self._activity()
            self._work_aside()
            self.everyone_answers()
            self.now += 0.3
            self._tick()
            if before != self._activity():
                quiet_since = self.now
            elif self.now - quiet_since > _CALM:
                self._is_slow = True
                return
        raise AssertionError("it never comes to rest")

    def _activity(self) -> object:
        """Return what grows as long as something happens; what counts flows is put on switches again for ever."""
        told = sum(count for event, count in self.events.items() if event != ROUND)
        changes = (change for each in self.present.values() for change in each.changes())
        return sum(getattr(change, "cookie", None) != COUNTING_COOKIE for change in changes), told

    def _connect(self, box: Box, *, knows_bundles: bool) -> None:
        before = self.present.get(box.name)
        if before is not None:
            before.is_replaced = True
            self.replaced.append(before)
        box.knows_bundles = knows_bundles
        switch = self.present[box.name] = ModelSwitch(self.application, box, self._refused)
        switch.connect()

    def _end(self, switch: ModelSwitch | None) -> None:
        if switch is not None:
            switch.has_ended = True
            self.application.switch_disconnected(SimpleNamespace(datapath=switch))

    def _port_goes(self, box: Box, port: int, *, live: bool) -> None:
        if box.ports.get(port) in (live, None):
            return
        box.ports[port] = live
        switch = self.present.get(box.name)
        if switch is not None and switch.is_described:  # the frameworks keep back what comes before
            switch.port_goes(port, live=live)

    def _box(self, pick: int) -> Box:
        return self.boxes[pick % len(self.boxes)]

    def _refused(self, what: str) -> None:
        raise AssertionError(what)

    def _look(self) -> float:
        if self._is_slow:
            self._slice_clock += SLICE
        return self._slice_clock

    def _write(self, event: str, **details: Any) -> None:  # noqa: ANN401  # details of an event
        self.events[event] += 1
        if event == event_log.SWITCH_READY:
            name = details["switch"]
            assert name in self.present, f"{name} is called ready, but is not connected"
            connection = self.application.switches.connections[name]
            assert connection.datapath is self.present[name]
            assert not connection.is_given_up
            lacking = self._promised(self.box_of(name))
            assert not lacking, f"{name} is called ready, but {lacking}"


def failed_cables(world: SwitchWorld) -> set[frozenset[str]]:
    """Return the cables of which an end is down."""
    wiring = world.application.switches.wiring
    return {
        frozenset(ends)
        for ends in wiring.topology.edges
        if not all(world.box_of(one).ports[wiring.port(one, other)] for one, other in (ends, tuple(reversed(ends))))
    }
