"""A controller keeps a plan that lacks something from all switches, and reacts to failures meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kuijia_app.control.findings import FindingKind
from kuijia_app.control.reconciliation import IndexedTables
from kuijia_app.control.snapshot import QueueCounters, Snapshot
from kuijia_app.control.switch_connection import ReadBack
from kuijia_app.controller import KuijiaController, Tick
from kuijia_app.framework import event_log
from kuijia_app.framework.seam import ofproto
from kuijia_app.tables.identifiers import COOKIE, LINK_PROBE_COOKIE, liveness_group
from te_solver.model.plan import PairPlan, Tunnel
from tests.hedera.test_multi_rooted import leaf_spine
from tests.kuijia_app.control.applications import application_of, scheduler_of
from tests.kuijia_app.control.fake_switch import T1, FakeSwitch, events
from tests.kuijia_app.control.test_late_answers import propose
from tests.kuijia_app.plans import motivation_plan

CONNECTED_WITHIN = 2.0

QUEUES = (0, 1, 2)


class Clock:
    """Time that passes when a test says so."""

    def __init__(self, application: KuijiaController, patched: pytest.MonkeyPatch) -> None:
        self.application = application
        self.now = 1000.0
        patched.setattr(application._runtime, "now", lambda: self.now)

    def passes(self, seconds: float, *switches: FakeSwitch, polled: bool = True) -> None:
        """Let time pass in ticks, after each of which the switches answer, polls too unless not `polled`."""
        end = self.now + seconds
        while self.now < end:
            self.now += 0.05
            self.application.time_passed(Tick())
            for switch in switches:
                switch.answer()
            for connection in self.application.switches.connections.values():
                if polled:
                    connection._polls.end()


@pytest.fixture
def application(tmp_path: Path) -> Iterator[KuijiaController]:
    with application_of(motivation_plan(), tmp_path, missing="refuse") as made:
        yield made


@pytest.fixture
def clock(application: KuijiaController, monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(application, monkeypatch)


def connect_all(application: KuijiaController) -> list[FakeSwitch]:
    switches = []
    for number in range(1, 5):
        switch = FakeSwitch(application, number)
        switch.ports = dict.fromkeys(application.switches.wiring.ports(f"s{number}"), True)
        switch.connect()
        switch.answer()
        switches.append(switch)
    return switches


def tell_queues(application: KuijiaController, number: int, without: tuple[int, int] | None = None) -> None:
    name = f"s{number}"
    ports = application.switches.wiring.ports(name)
    queues = {(port, queue): QueueCounters(0, 0) for port in ports for queue in QUEUES if (port, queue) != without}
    now = application._runtime.now()
    application._control.snapshot_taken(Snapshot(name, now, now, {}, {}, {}, {}, {}, queues))


def tell_all_queues(application: KuijiaController, s1_without: tuple[int, int] | None = None) -> None:
    tell_queues(application, 1, s1_without)
    for number in range(2, 5):
        tell_queues(application, number)


def of_plan(switch: FakeSwitch) -> list[Any]:
    """Return the changes of the plan's tables."""
    return [each for each in switch.changes() if getattr(each, "cookie", COOKIE) != LINK_PROBE_COOKIE]


def test_a_missing_queue_keeps_the_plan_from_all_switches_until_it_is_made(
    application: KuijiaController, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    logger = SimpleNamespace(warning=lambda words, *its: lines.append(words % its), info=lambda *_: None)
    monkeypatch.setattr(application._runtime, "logger", logger)
    switches = connect_all(application)
    tell_all_queues(application, s1_without=(2, 1))
    clock.passes(1.0, *switches)
    (line,) = (line for line in lines if line.startswith("the plan is"))
    assert line.startswith("the plan is put on no switch: switch s1: port 2 to s3 lacks queue 1 (normal): make them")
    (found,) = events(tmp_path, event_log.PROBLEM_FOUND)
    assert (found["kind"], found["switch"], found["port"]) == (FindingKind.QUEUE_MISSING.value, "s1", 2)
    clock.passes(2 * CONNECTED_WITHIN, *switches)
    assert not any(map(of_plan, switches))
    assert events(tmp_path, event_log.SWITCH_READY) == []
    tell_queues(application, 1)
    clock.passes(3.0, *switches)
    assert all(map(of_plan, switches))
    assert {event["switch"] for event in events(tmp_path, event_log.SWITCH_READY)} == {"s1", "s2", "s3", "s4"}
    assert [event["kind"] for event in events(tmp_path, event_log.PROBLEM_GONE)] == [FindingKind.QUEUE_MISSING.value]
    assert [line for line in lines if line.startswith("the plan is")][1:] == ["the plan is put on switches"]


def test_what_is_lost_while_the_plan_runs_is_named_and_takes_it_from_no_switch(
    application: KuijiaController, clock: Clock, tmp_path: Path
) -> None:
    switches = connect_all(application)
    tell_all_queues(application)
    clock.passes(3.0, *switches)
    assert all(map(of_plan, switches))
    tell_queues(application, 3, without=(1, 2))
    clock.passes(1.0, *switches)
    found = [event for event in events(tmp_path, event_log.PROBLEM_FOUND) if event["kind"] == "queue-missing"]
    assert [event["switch"] for event in found] == ["s3"]
    again = FakeSwitch(application, 3)
    again.ports = switches[2].ports
    again.connect()
    again.answer()
    assert of_plan(again)


def test_an_update_to_a_plan_that_lacks_something_is_refused_with_the_reason(
    application: KuijiaController, clock: Clock, tmp_path: Path
) -> None:
    switches = connect_all(application)
    tell_all_queues(application)
    clock.passes(3.0, *switches)
    tell_queues(application, 2, without=(1, 0))
    clock.passes(1.0, *switches)
    propose(application, "new")
    for then in application._filed():
        application.time_passed(Tick(then=then))
    (refused,) = events(tmp_path, event_log.UPDATE_REFUSED)
    assert "switch s2: port 1 to s1 lacks queue 0 (control)" in refused["reason"]


def test_an_update_is_refused_for_queues_that_only_its_plan_needs(
    application: KuijiaController, clock: Clock, tmp_path: Path
) -> None:
    switches = connect_all(application)
    tell_all_queues(application)
    host = application.switches.wiring.host_port("s3")  # the plan in force has no traffic of s3's hosts
    tell_queues(application, 3, without=(host, 1))
    clock.passes(3.0, *switches)
    assert all(map(of_plan, switches))
    plan = motivation_plan()
    more = PairPlan("s3", "s4", 1.0, 1.0, (Tunnel(40, ("s3", "s4"), 1.0, 1.0),))
    reading = application._source.prepared(
        "more", replace(plan, pairs=(*plan.pairs, more)), application._control.rollout
    )
    application.time_passed(Tick(reading))
    for then in application._filed():
        application.time_passed(Tick(then=then))
    (refused,) = events(tmp_path, event_log.UPDATE_REFUSED)
    assert f"switch s3: port {host} to the host of s3 lacks queue 1 " in refused["reason"]


def test_a_switch_that_refuses_probes_is_named_and_blames_no_link(
    application: KuijiaController, clock: Clock, tmp_path: Path
) -> None:
    switches = connect_all(application)
    tell_all_queues(application)
    clock.passes(0.2)
    catch = next(each for each in switches[0].changes() if getattr(each, "cookie", None) == LINK_PROBE_COOKIE)
    switches[0].refuse(catch, ofproto.OFPET_FLOW_MOD_FAILED, ofproto.OFPFMFC_TABLE_FULL)
    clock.passes(10.0, *switches)
    kinds = {event["kind"] for event in events(tmp_path, event_log.PROBLEM_FOUND) if event["switch"] == "s1"}
    assert kinds == {FindingKind.SWITCH_UNPROBED.value}
    application.switches.connections["s1"].read_again()
    clock.passes(1.0, *switches)
    assert [event["kind"] for event in events(tmp_path, event_log.PROBLEM_GONE)] == [FindingKind.SWITCH_UNPROBED.value]


def test_a_switch_that_answers_all_but_polls_is_named_and_keeps_the_plan_from_all_switches(
    application: KuijiaController, clock: Clock, tmp_path: Path
) -> None:
    switches = connect_all(application)
    for number in range(2, 5):
        tell_queues(application, number)
    clock.passes(2.5, *switches, polled=False)
    assert events(tmp_path, event_log.PROBLEM_FOUND) == []
    clock.passes(1.0, *switches, polled=False)
    found = {event["switch"]: event for event in events(tmp_path, event_log.PROBLEM_FOUND)}
    assert {event["kind"] for event in found.values()} == {FindingKind.SWITCH_UNWATCHED.value}
    assert "does not answer which flow entries, groups, group counters" in found["s1"]["problem"]
    assert found["s1"]["what_to_do"]
    clock.passes(20.0, *switches, polled=False)
    assert not any(map(of_plan, switches))
    tell_queues(application, 1)
    clock.passes(1.0, *switches)
    assert all(map(of_plan, switches))
    gone = {event["switch"] for event in events(tmp_path, event_log.PROBLEM_GONE)}
    assert gone == found.keys()


def test_a_switch_that_does_not_answer_polls_is_named_in_a_fabric_and_forgotten_when_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scheduler_of(leaf_spine(leaves=2, spines=2, hosts=1), tmp_path) as application:
        now = 1000.0
        monkeypatch.setattr(application._runtime, "now", lambda: now)
        leaf, datapath_id = "l1", application.switches.wiring.datapath_id("l1")
        switch = FakeSwitch(application, datapath_id)
        switch.ports = dict.fromkeys(application.switches.wiring.ports(leaf), True)
        switch.connect()
        switch.answer()
        for _ in range(100):
            now += 0.05
            application.switches.watch_tables(now)
            application.switches.report_findings(now)
            switch.answer()
        (found,) = events(tmp_path, event_log.PROBLEM_FOUND)
        assert (found["kind"], found["switch"]) == (FindingKind.SWITCH_UNWATCHED.value, leaf)
        application.switch_disconnected(SimpleNamespace(datapath=switch))
        assert not list(application.switches.findings)


def test_what_a_switch_lacks_is_not_called_gone_when_it_connects_again(
    application: KuijiaController, clock: Clock, tmp_path: Path
) -> None:
    switches = connect_all(application)
    tell_all_queues(application, s1_without=(2, 1))
    clock.passes(1.0, *switches)
    application.switch_disconnected(SimpleNamespace(datapath=switches[0]))
    clock.passes(1.0, *switches[1:])
    again = FakeSwitch(application, 1)
    again.ports = switches[0].ports
    again.connect()
    clock.passes(1.0)
    clock.passes(1.0, again, *switches[1:])
    tell_queues(application, 1, without=(2, 1))
    clock.passes(1.0, again, *switches[1:])
    kinds = [event["kind"] for event in events(tmp_path, event_log.PROBLEM_FOUND, event_log.PROBLEM_GONE)]
    assert kinds.count(FindingKind.QUEUE_MISSING.value) == 1


def test_a_link_that_heals_is_used_again_though_the_plan_is_put_on_no_switch(
    application: KuijiaController, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = application._control.switch_read

    def read_with_tables(switch: str, has: ReadBack) -> None:
        tables = IndexedTables.of(application._control.rollout.wanted(switch))
        has.tables.groups.update(tables.group_of)
        has.tables.flows.update(tables.entry_of)
        read(switch, has)

    monkeypatch.setattr(application._control, "switch_read", read_with_tables)
    switches = connect_all(application)
    tell_all_queues(application, s1_without=(2, 1))
    clock.passes(3.0, *switches)
    for live in (False, True):
        switches[1].port_goes(application.switches.wiring.port("s2", "s4"), live=live)
        clock.passes(1.0, *switches)
    group = [each for each in of_plan(switches[0]) if getattr(each, "group_id", None) == liveness_group(T1)]
    assert [len(each.buckets) for each in group] == [0, 1]


def test_an_empty_switch_that_lacks_something_keeps_no_pair_from_being_carried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = motivation_plan()
    (pair,) = plan.pairs
    plan = replace(plan, pairs=(replace(pair, tunnels=(replace(pair.tunnels[1], rate=100.0, weight=1.0),)),))
    with application_of(plan, tmp_path, missing="refuse") as application:
        clock = Clock(application, monkeypatch)
        switches = connect_all(application)
        for number in (1, 2, 4):
            tell_queues(application, number)
        application.switch_disconnected(SimpleNamespace(datapath=switches.pop(2)))
        clock.passes(5.0, *switches)
        empty = FakeSwitch(application, 3)
        empty.ports = dict.fromkeys(application.switches.wiring.ports("s3"), True)
        empty.connect()
        empty.answer()
        tell_queues(application, 3, without=(1, 1))
        clock.passes(1.0, empty, *switches)
        assert not of_plan(empty)
        for switch, one, other in ((switches[0], "s1", "s4"), (switches[2], "s4", "s1")):
            switch.port_goes(application.switches.wiring.port(one, other), live=False)
        clock.passes(1.0, empty, *switches)
        paths = {tuple(event["path"]) for event in events(tmp_path, event_log.RESTORATION)}
        assert paths == {("s1", "s2", "s4"), ("s4", "s2", "s1")}
        assert not of_plan(empty)


def test_probes_that_come_too_late_for_the_role_of_master_are_no_refusal_of_probes(
    application: KuijiaController, clock: Clock, tmp_path: Path
) -> None:
    switches = connect_all(application)
    clock.passes(0.2)
    catch = next(each for each in switches[0].changes() if getattr(each, "cookie", None) == LINK_PROBE_COOKIE)
    switches[0].refuse(catch, ofproto.OFPET_BAD_REQUEST, ofproto.OFPBRC_IS_SLAVE)
    clock.passes(1.0, *switches)
    kinds = {event["kind"] for event in events(tmp_path, event_log.PROBLEM_FOUND)}
    assert FindingKind.SWITCH_UNPROBED.value not in kinds
