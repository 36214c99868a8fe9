"""A lab with two controllers: one is killed while packets flow, and the other acts in its place."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest

from kuijia_app.control.findings import FindingKind
from kuijia_app.framework import event_log
from kuijia_base.errors import InputError, TestbedError
from te_solver.model.plan import Plan
from testbed.chaos.probes import PORT, ProbeRun, choose_probes
from testbed.controllers.controller_set import ControllerSet
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.links.label_observer import EgressFlowKey
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.own_switches import problems
from tests.kuijia_app.plans import motivation_plan

PROMPT = 5.0
"""Seconds for a takeover on a busy machine; `docs/pair.md` says how long it takes."""

INTERVAL = 0.005
T1, T2, T3 = 16, 17, 18


@pytest.mark.emulation
@pytest.mark.beside
@pytest.mark.slow
def test_the_other_controller_takes_over_and_no_packet_is_lost() -> None:
    plan = motivation_plan()
    with Lab(plan, LabOptions(controllers=2), lambda _: None) as lab:
        controllers, network = lab.controller, lab.emulated_network
        assert isinstance(controllers, ControllerSet)
        probes = choose_probes(network, plan, network.layout)
        assert {probe.flow.tunnel for probe in probes} == {tunnel.nodes for tunnel in plan.tunnels}

        with ProbeRun(network, probes, INTERVAL) as run:
            run.start()
            handovers = [lab.hand_over() for _ in range(3)]
            result = run.stop()
        assert [each.before for each in handovers[1:]] == [each.after for each in handovers[:-1]]
        assert all(each.after == 3 - each.before for each in handovers)
        assert result.losses == ()

        first = controllers.acting
        roles = {member["acts"]: member["number"] for member in lab.status()["controller"]["members"]}
        with ProbeRun(network, probes, INTERVAL) as run:
            run.start()
            killed_at = time.time()
            lab.kill_controller()
            controllers.wait_until_ready(plan.topology.nodes)
            result = run.stop()
        (taken,) = [
            event
            for event in controllers.events()
            if event["event"] == event_log.ROLE_TAKEN and event["time"] > killed_at
        ]
        assert taken["controller"] == roles[False]
        assert taken["time"] - killed_at < PROMPT
        assert result.losses == ()
        assert all(count.came == count.sent > taken["time"] - killed_at for count in result.counts)

        status = lab.status()
        assert status["faults"] == [f"controller {roles[True]} is dead"]
        assert status["controller"]["pid"] == controllers.acting.pid
        assert controllers.acting is not first

        cut = lab.fail("s2", "s4")
        assert (cut.tunnels_told, [each["path_id"] for each in lab.status()["tunnels"] if not each["alive"]]) == (
            1,
            [T1],
        )
        (moved,) = [probe for probe in probes if probe.flow.tunnel == ("s1", "s2", "s4")]
        key = EgressFlowKey("udp", moved.address, moved.port, PORT, moved.code_point)
        with ProbeRun(network, [moved], INTERVAL) as run, network.observe("s1") as observer:
            run.start()
            assert observer.watch([key], 5)[key].label in {T2, T3}
            result = run.stop()
        assert result.losses == ()
        lab.heal("s2", "s4")

        assert lab.update(motivation_plan((0.4, 0.3, 0.3))).reweighted == 2
        assert [tunnel["weight"] for tunnel in lab.status()["tunnels"]] == [0.4, 0.3, 0.3]


@pytest.mark.emulation
@pytest.mark.beside
@pytest.mark.slow
def test_one_that_took_over_names_the_link_that_loses_packets_and_no_other() -> None:
    plan = motivation_plan()

    def lost() -> set[tuple[str, int]]:
        found = problems(lab.controller.events())
        return {(event["switch"], event["port"]) for event in found if event["kind"] == FindingKind.LINK_LOST.value}

    with Lab(plan, LabOptions(controllers=2), lambda _: None) as lab:
        lab.hand_over()
        drop = f"priority=65535,in_port={lab.wiring.port('s4', 's2')},actions=drop"
        lab.network.ofctl("s4", "add-flow", drop)
        broken = "s2", lab.wiring.port("s2", "s4")
        wait_until(lambda: broken in lost(), "the link is named")
        assert lost() == {broken}


def test_a_lab_needs_a_controller() -> None:
    with pytest.raises(InputError, match=r"^option:controllers: 0, expected 1 or more$"):
        Lab(motivation_plan(), LabOptions(controllers=0), lambda _: None).start()


class Member:
    """A controller of which there is nothing but a log."""

    def __init__(self) -> None:
        self.log: list[dict[str, Any]] = []
        self.is_alive = False
        self.pid = None
        self.successor: Member | None = None
        self.dies = self.refuses = False

    def start(self) -> None:
        self.log.clear()
        self.is_alive = True

    def kill(self) -> None:
        self.is_alive = False

    def events(self) -> list[dict[str, Any]]:
        return list(self.log)

    def hand_over(self) -> None:
        if self.successor is None:
            self.say(9.0, event_log.HANDOVER_REFUSED, reason="nobody is there")
        else:
            self.successor.say(9.0, event_log.ROLE_TAKEN, generation=9)
            self.say(9.1, event_log.ROLE_YIELDED, reason="a peer acts")

    def programmed_switches(self) -> list[str]:
        return [event["switch"] for event in self.log if event["event"] == event_log.SWITCH_READY]

    def update(self, plan: Plan) -> Plan:
        if self.successor is not None:
            if self.dies:
                self.kill()
            else:
                self.say(9.0, event_log.ROLE_YIELDED, reason="a peer acts")
            self.successor.say(9.0, event_log.ROLE_TAKEN, generation=9)
        if self.successor is not None or self.refuses:
            raise TestbedError("the plan is not followed")
        return plan

    def say(self, at: float, event: str, **details: object) -> None:
        self.log.append({"time": at, "monotonic": at, "event": event, **details})


@pytest.fixture
def members() -> list[Member]:
    return [Member(), Member()]


@pytest.fixture
def controllers(members: list[Member]) -> ControllerSet:
    started = ControllerSet(cast("Any", members))
    started.start()
    return started


def acting(controllers: ControllerSet) -> object:
    """Return the one that acts, None if none does."""
    return controllers.acting if controllers.has_acting else None


def test_the_one_that_acts_took_its_role_last_and_is_alive(members: list[Member], controllers: ControllerSet) -> None:
    first, second = members
    assert acting(controllers) is None
    first.say(1.0, event_log.ROLE_TAKEN, generation=1)
    assert acting(controllers) is first
    second.say(2.0, event_log.ROLE_TAKEN, generation=2)  # the first is frozen and has not heard of it
    assert acting(controllers) is second
    first.say(3.0, event_log.ROLE_YIELDED, reason="a peer acts")
    assert acting(controllers) is second
    second.kill()
    assert (acting(controllers), controllers.dead) == (None, [2])
    first.say(4.0, event_log.ROLE_TAKEN, generation=3)
    assert acting(controllers) is first


def test_events_keep_their_places_when_a_controller_is_started_again(
    members: list[Member], controllers: ControllerSet
) -> None:
    first, second = members
    first.say(1.0, event_log.ROLE_TAKEN, generation=1)
    first.say(2.0, event_log.TUNNEL_LIVENESS, ingress="s1", path_id=T1, alive=False)
    assert controllers.tunnels_told_dead() == {T1}
    before = controllers.events()
    first.kill()
    second.say(3.0, event_log.ROLE_TAKEN, generation=2)
    controllers.start()
    first.say(5.0, event_log.FAILURE)
    second.say(4.0, event_log.TUNNEL_LIVENESS, ingress="s1", path_id=T1, alive=True)
    after = controllers.events()
    assert after[: len(before)] == before
    told = [(event["controller"], event["time"]) for event in after[len(before) :]]
    assert told == [(2, 3.0), (2, 4.0), (1, 5.0)]
    assert controllers.tunnels_told_dead() == set()
    assert [event["controller"] for event in controllers.errors()] == [1]


def test_connections_of_one_that_stands_by_are_not_told(members: list[Member], controllers: ControllerSet) -> None:
    first, second = members
    first.say(1.0, event_log.ROLE_TAKEN, generation=1)
    first.say(2.0, event_log.SWITCH_READY, switch="s1")
    second.say(3.0, event_log.SWITCH_GONE, switch="s1")
    assert [event["event"] for event in controllers.events()] == [event_log.ROLE_TAKEN, event_log.SWITCH_READY]
    controllers.wait_until_ready(["s1"], 0.0)
    with pytest.raises(TestbedError, match=r"^no controller has programmed s2 within 0 s$"):
        controllers.wait_until_ready(["s1", "s2"], 0.0)
    first.kill()
    second.kill()
    with pytest.raises(TestbedError, match=r"^all controllers have died$"):
        controllers.wait_until_ready(["s1"], 0.0)


def test_a_handover_is_done_when_another_one_acts_or_says_why_not(
    members: list[Member], controllers: ControllerSet
) -> None:
    first, second = members
    first.say(1.0, event_log.ROLE_TAKEN, generation=1)
    first.successor = second
    done = controllers.hand_over()
    assert (done.before, done.after, acting(controllers)) == (1, 2, second)
    with pytest.raises(TestbedError, match=r"^there is no handover: nobody is there$"):
        controllers.hand_over()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([], False),
        (["role-taken"], False),
        (["role-taken", "successor-ready", "switch-ready"], True),
        (["successor-ready", "successor-gone"], False),
        (["successor-ready", "role-taken"], False),
    ],
)
def test_a_successor_is_ready_until_it_acts_or_is_gone(
    members: list[Member], controllers: ControllerSet, said: list[str], *, expected: bool
) -> None:
    for at, event in enumerate(said):
        members[0].say(float(at), event, generation=1, switch="s1")
    assert controllers.wait_for_successor(0.0) is expected


def test_a_lab_with_one_controller_refuses_a_handover() -> None:
    lab = Lab(motivation_plan(), LabOptions(), lambda _: None)
    lab._controller = cast("Any", Member())
    with pytest.raises(InputError, match=r"^lab:handover: the lab has one controller, expected a lab started with"):
        lab.hand_over()


@pytest.mark.parametrize("dies", [True, False])
def test_an_update_goes_on_with_the_controller_that_acts_then(
    members: list[Member], controllers: ControllerSet, *, dies: bool
) -> None:
    first, second = members
    first.say(1.0, event_log.ROLE_TAKEN, generation=1)
    first.dies, first.successor = dies, second
    plan = motivation_plan()
    assert controllers.update(plan) is plan
    assert (first.is_alive, acting(controllers)) == (not dies, second)
    second.refuses = True
    with pytest.raises(TestbedError, match=r"^the plan is not followed$"):
        controllers.update(plan)
    first.kill()
    second.kill()
    with pytest.raises(TestbedError, match=r"^all controllers have died$"):
        controllers.update(plan)
