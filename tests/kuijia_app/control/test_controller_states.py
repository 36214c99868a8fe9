"""Whatever switches, links, plans and the clock do, and in whatever order: every switch ends with what is wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from kuijia_app import controller
from kuijia_app.control.reconciliation import IndexedTables
from kuijia_app.controller import KuijiaController, Tick
from kuijia_app.framework import event_log
from te_solver.formats.plan_file import save_plan
from tests.kuijia_app.control.applications import application_of
from tests.kuijia_app.control.model_switch import Box
from tests.kuijia_app.control.switch_world import PICK, SwitchWorld, failed_cables
from tests.kuijia_app.plans import both_ways, plan_of

SQUARE = both_ways("square", "a b c d", "a-b b-c c-d d-a a-c")
PLANS = [
    plan_of(SQUARE, *paths)
    for paths in (
        ("a-b-c a-c",),
        ("a-b-c a-c a-d-c",),
        ("a-d-c a-c",),
        ("b-c-d b-a-d", "a-b-c a-c"),
        ("a-b-c-d a-d",),
    )
]


class ControllerWorld(SwitchWorld):
    """Adds plans, which are read, proposed, withdrawn and filed while all the rest goes on."""

    application: KuijiaController

    def __init__(self) -> None:
        super().__init__(controller)
        self._folder: Path
        self._ticks: list[Tick] = []
        self._last_told: dict[str, str] = {}

    def _made(self, folder: Path) -> KuijiaController:
        self._folder = folder
        return self.rig.enter_context(application_of(PLANS[0], folder))

    def _promised(self, box: Box) -> str:
        return box.differs_from(self._wanted(box), None)

    def _wanted(self, box: Box) -> IndexedTables:
        """Return the tables of plans, and what restoration puts on top of them."""
        application = self.application
        return application._control._restoration.told(box.name).over(application._control.rollout.wanted(box.name))

    def _tick(self) -> None:
        self.application.time_passed(Tick())

    @rule(pick=PICK)
    def ask_for_plan(self, pick: int) -> None:
        save_plan(PLANS[pick % len(PLANS)], self._folder / "plan.json")
        self.application._source.ask()

    @rule()
    def withdraw(self) -> None:
        self.application._source.ask_to_withdraw()

    @rule()
    def work_on_files(self) -> None:
        """The background thread has its turn; what it has to say waits in the application's queue."""
        self._ticks += [Tick(then=then) for then in self.application._filed()]
        made = self.application._made_plan()
        if made is not None:
            self._ticks.append(Tick(made))

    @precondition(lambda self: self._ticks)
    @rule()
    def hear_of_files(self) -> None:
        self.application.time_passed(self._ticks.pop(0))

    @rule(pick=PICK, knows_bundles=st.booleans())
    def connect_unfit(self, pick: int, knows_bundles: bool) -> None:  # noqa: FBT001  # drawn
        """Another switch comes in the place of one, with a port too few."""
        box = self._box(pick)
        self._end(self.present.pop(box.name, None))
        box.restart()
        self.unfit.add(box.name)
        missing = max(box.ports)
        live = box.ports.pop(missing)
        self._connect(box, knows_bundles=knows_bundles)
        self.present[box.name].ports = dict(box.ports)
        box.ports[missing] = live

    def _work_aside(self) -> None:
        self.work_on_files()
        while self._ticks:
            self.hear_of_files()

    def _write(self, event: str, **details: Any) -> None:  # noqa: ANN401  # details of an event
        super()._write(event, **details)
        if event in (event_log.UPDATE_STARTED, event_log.UPDATE_DONE, event_log.UPDATE_REFUSED):
            self._last_told[details["update"]] = event

    def _require_right(self) -> None:
        application = self.application
        assert application._control.tracker.failed_edges == failed_cables(self)
        assert application._control.rollout.is_settled
        open_updates = [name for name, event in self._last_told.items() if event == event_log.UPDATE_STARTED]
        assert not open_updates, "updates have neither ended nor been refused"
        for box in self.boxes:
            dead = application._control.tracker.dead_path_ids(box.name)
            differs = box.differs_from(self._wanted(box), dead)
            assert not differs, f"{box.name} {differs}"


TestController = ControllerWorld.TestCase
TestController.settings = settings(max_examples=100, stateful_step_count=40)
