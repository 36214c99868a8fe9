"""The spotter adds to the journal what happens in a lab without a request."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kuijia_app.framework import event_log
from testbed.lab import observer
from testbed.lab.journal import LabJournal
from testbed.lab.lab_flows import FlowEnd
from testbed.lab.lab_options import LabOptions
from testbed.lab.observer import Spotter
from tests.kuijia_app.plans import motivation_plan

PLAN = motivation_plan()


class Scene:
    """What a spotter can see, as it is set by a test."""

    def __init__(self) -> None:
        self.links_up = {frozenset(edge): True for edge in PLAN.topology.edges}
        self.dead: set[int] = set()
        self.faults: list[str] = []
        self.events: list[dict[str, Any]] = []
        self.ends: list[FlowEnd] = []

    def look(self, _: object, *, with_queues: bool) -> Any:  # noqa: ANN401, ARG002  # as `observed`
        return dict(self.links_up), set(self.dead), list(self.faults)

    def log(self, event: str, **details: object) -> None:
        self.events.append({"time": 50.0, "event": event, **details})


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    scene = Scene()
    monkeypatch.setattr(observer, "observed", scene.look)
    return scene


@pytest.fixture
def lab(scene: Scene) -> Any:  # noqa: ANN401  # the parts that a spotter looks at
    class Controller:
        def events(self) -> list[dict[str, Any]]:
            return list(scene.events)

        def programmed_switches(self) -> list[str]:
            return ["s1", "s2", "s3", "s4"]

    def ends() -> list[FlowEnd]:
        found, scene.ends = scene.ends, []
        return found

    flows = SimpleNamespace(measure=ends, describe=list)
    return SimpleNamespace(plan=PLAN, options=LabOptions(), controller=Controller(), flows=flows, switched=0)


def told(spotter: Spotter, journal: LabJournal) -> list[tuple[str, str]]:
    """Return kind and text of the events that the next looks add."""
    known = journal.last
    for _ in range(6):  # queues are examined at every fifth look
        spotter.turn()
    return [(event.kind, event.text) for event in journal.after(known)]


def test_nothing_is_told_of_a_lab_in_which_nothing_happens(lab: Any) -> None:  # noqa: ANN401
    journal = LabJournal()
    assert told(Spotter(lab, journal), journal) == []


def test_tunnels_that_die_and_live_again_are_told_of(scene: Scene, lab: Any) -> None:  # noqa: ANN401
    journal = LabJournal()
    spotter = Spotter(lab, journal)
    scene.dead = {16}
    assert told(spotter, journal) == [("group", "tunnel 16 (s1-s2-s4) is dead")]
    scene.dead = {17, 18}
    assert told(spotter, journal) == [
        ("group", "tunnels 17 (s1-s4), 18 (s1-s3-s4) are dead"),
        ("group", "tunnel 16 (s1-s2-s4) is alive"),
    ]
    assert journal.after(0)[0].subject == {"tunnels": [16]}


def test_a_link_that_nobody_asked_for_is_told_of_and_one_that_was_is_not(scene: Scene, lab: Any) -> None:  # noqa: ANN401
    journal = LabJournal()
    spotter = Spotter(lab, journal)
    scene.links_up[frozenset(("s1", "s2"))] = False
    assert told(spotter, journal) == [("cut", "link s1-s2 is down, which nobody asked the lab for")]
    lab.switched = 1
    scene.links_up[frozenset(("s1", "s3"))] = False
    assert told(spotter, journal) == []
    lab.switched = 2
    assert told(spotter, journal) == []
    scene.links_up[frozenset(("s1", "s2"))] = True
    assert told(spotter, journal) == [("heal", "link s1-s2 is up, which nobody asked the lab for")]


def test_the_controllers_messages_are_told_once_for_each_ingress(scene: Scene, lab: Any) -> None:  # noqa: ANN401
    journal = LabJournal()
    spotter = Spotter(lab, journal)
    for path_id in (18, 17, 16, 19):
        scene.log(event_log.TUNNEL_LIVENESS, ingress="s1", path_id=path_id, alive=False)
    scene.log(event_log.TUNNEL_LIVENESS, ingress="s4", path_id=16, alive=True)
    scene.log(event_log.SWITCH_READY, switch="s1")
    scene.log(event_log.SWITCH_GONE, switch="s1")
    scene.log(event_log.SWITCH_READY, switch="s1")
    scene.log(event_log.UPDATE_LIVE, update="1")
    scene.log(event_log.UPDATE_REFUSED, update="1", reason="withdrawn")
    scene.log(event_log.SWITCH_ERROR, switch="s2", error="BAD")
    for state, path in (("carried", ["s1", "s2", "s4"]), ("cut-off", []), ("ended", [])):
        scene.log(event_log.RESTORATION, ingress="s1", egress="s4", state=state, path=path)
    assert told(spotter, journal) == [
        ("controller", "switch s1 has lost its connection to the controller"),
        ("controller", "switch s1 is connected and programmed"),
        ("plan", "every ingress follows the new plan"),
        ("plan", "the update was given up: withdrawn"),
        ("fault", "the controller reports switch-error: switch s2, error BAD"),
        ("controller", "s1 to s4 has no live tunnel: carried over s1-s2-s4"),
        ("controller", "s1 to s4 has no live tunnel and no path"),
        ("controller", "s1 to s4 has a live tunnel again"),
        ("controller", "the controller told s1 that tunnels 16, 17, 18 and 1 more are dead"),
        ("controller", "the controller told s4 that tunnel 16 is alive"),
    ]
    assert {event.time for event in journal.after(0)} == {50.0}


def test_a_takeover_is_told_with_the_controller_before(scene: Scene, lab: Any) -> None:  # noqa: ANN401
    journal = LabJournal()
    spotter = Spotter(lab, journal)
    scene.log(event_log.ROLE_TAKEN, controller=1, generation=1)
    scene.log(event_log.ROLE_TAKEN, controller=2, generation=2)
    assert told(spotter, journal) == [
        ("controller", "controller 1 acts from now on"),
        ("controller", "controller 2 acts from now on, after controller 1"),
    ]


def test_a_fault_is_told_once_and_again_after_it_was_gone(scene: Scene, lab: Any) -> None:  # noqa: ANN401
    journal = LabJournal()
    spotter = Spotter(lab, journal)
    scene.faults = ["interface s1-eth1 has lost its queues", "the controller has died"]
    assert set(told(spotter, journal)) == {("fault", fault) for fault in scene.faults}
    assert told(spotter, journal) == []
    scene.faults = []
    assert told(spotter, journal) == []
    scene.faults = ["interface s1-eth1 has lost its queues"]
    assert told(spotter, journal) == [("fault", "interface s1-eth1 has lost its queues")]


def test_the_end_of_a_flow_is_told(scene: Scene, lab: Any) -> None:  # noqa: ANN401
    journal = LabJournal()
    spotter = Spotter(lab, journal)
    scene.ends = [FlowEnd("f1", None), FlowEnd("f2", "its server died")]
    assert told(spotter, journal) == [("flow", "flow f1 has ended"), ("fault", "flow f2 failed: its server died")]
