"""What a switch answers is not taken for more than it was asked, whatever has changed since the question."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from kuijia_app.controller import KuijiaController, Tick
from kuijia_app.framework import event_log
from kuijia_app.framework.seam import ofproto
from kuijia_app.tables.identifiers import liveness_group
from kuijia_app.tables.rules import FlowEntry, Match, Output, SwitchTables
from te_solver.formats.plan_file import load_plan, save_plan
from tests.kuijia_app.control.fake_switch import PARSER, S1, S2, T1, FakeSwitch, connected, events
from tests.kuijia_app.control.model_switch import Box, ModelSwitch
from tests.kuijia_app.plans import motivation_plan

CEILING = 6.0
BATCH = 200

LIGHTER = (0.2, 0.3, 0.5)
"""Other weights than those of the plan in force."""


def propose(application: KuijiaController, name: str, weights: tuple[float, float, float] = LIGHTER) -> None:
    """Have a plan that was read proposed; it is not in its file yet."""
    plan = motivation_plan(weights)
    reading = application._source.prepared(name, plan, application._control.rollout)
    application.time_passed(Tick(reading))


def file(application: KuijiaController) -> None:
    """Have plans put into their files, and the application told so."""
    for then in application._filed():
        application.time_passed(Tick(then=then))


def answer_until(switch: FakeSwitch, kind: type) -> None:
    """Have the switch answer up to its first message of a kind that waits."""
    while not isinstance(switch.sent[switch._answered], kind):
        switch.answer(1)


def box(application: KuijiaController, name: str, ports: int = 4) -> Box:
    return Box(name, application.switches.wiring.datapath_id(name), dict.fromkeys(range(1, ports + 1), True))


def failing(what: str) -> None:
    raise AssertionError(what)


def test_a_port_that_goes_down_while_the_switch_describes_its_tables_stays_down(application: KuijiaController) -> None:
    ingress = connected(application, S1)
    switch = FakeSwitch(application, S2)
    switch.connect()
    answer_until(switch, PARSER.OFPGroupDescStatsRequest)
    switch.port_goes(2, live=False)
    switch.answer()
    assert application._control.tracker.failed_edges == {frozenset({"s2", "s4"})}
    assert ingress.emptied_groups() == [liveness_group(T1)]


def test_a_port_that_was_held_down_and_is_down_at_a_new_connection_does_not_come_up_by_itself(
    application: KuijiaController, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(application._runtime, "now", lambda: now)
    switch = connected(application, S2)
    for _ in range(int(CEILING)):
        switch.port_goes(2, live=False)
        switch.port_goes(2, live=True)
    assert application.switches.damping.is_held(("s2", 2))
    application.switch_disconnected(SimpleNamespace(datapath=switch))
    back = FakeSwitch(application, S2)
    back.ports[2] = False
    back.connect()
    back.answer()
    now += 60.0
    application.time_passed(Tick())
    assert application._control.tracker.failed_edges == {frozenset({"s2", "s4"})}


def test_a_plan_waits_for_switches_that_were_sent_the_one_before_until_they_have_the_new_one(
    application: KuijiaController, tmp_path: Path
) -> None:
    boxes = {name: box(application, name) for name in application.switches.wiring.topology.nodes}
    switches = {name: ModelSwitch(application, each, failing) for name, each in boxes.items()}
    for name, switch in switches.items():
        switch.connect()
        if name != "s1":
            switch.answer()
    answer_until(switches["s1"], PARSER.ONFBundleAddMsg)
    propose(application, "new")
    switches["s1"].answer()
    assert "s1" not in {event["switch"] for event in events(tmp_path, event_log.SWITCH_READY)}
    assert application._control.rollout._next is None or "s1" in application._control.rollout._next.pending
    file(application)
    for switch in switches.values():
        switch.answer()
    assert all(not each.differs_from(application._control.rollout.wanted(name)) for name, each in boxes.items())
    assert "s1" in {event["switch"] for event in events(tmp_path, event_log.SWITCH_READY)}


def test_an_ingress_that_was_left_alone_hears_with_the_next_plan_of_the_tunnels_that_have_died_meanwhile(
    application: KuijiaController,
) -> None:
    ingress, switch = connected(application, S1), connected(application, S2)
    ingress.refuses = PARSER.OFPGroupMod
    switch.port_goes(2, live=False)
    ingress.answer()
    switch.port_goes(2, live=True)
    ingress.answer()
    assert application._control._left_alone == {"s1"}
    switch.port_goes(2, live=False)
    ingress.refuses = None
    before = len(ingress.sent)
    propose(application, "new")
    file(application)
    ingress.answer()
    groups = [each for each in ingress.sent[before:] if isinstance(each, PARSER.OFPGroupMod)]
    (told,) = [each for each in groups if each.group_id == liveness_group(T1)]
    assert told.buckets == []


def test_a_switch_without_the_ports_of_the_plan_is_not_programmed_by_an_update_either(
    application: KuijiaController,
) -> None:
    switch = FakeSwitch(application, S1)
    del switch.ports[3]
    switch.connect()
    switch.answer()
    propose(application, "new")
    file(application)
    switch.answer()
    assert switch.changes() == []


def test_a_plan_that_a_switch_refuses_as_it_did_with_the_one_before_is_given_up(
    application: KuijiaController, tmp_path: Path
) -> None:
    switch = FakeSwitch(application, S1)
    switch.refuses = PARSER.OFPGroupMod
    switch.connect()
    switch.answer()
    assert len(events(tmp_path, event_log.SWITCH_REFUSED)) == 1
    for each in ("s2", "s3", "s4"):
        connected(application, application.switches.wiring.datapath_id(each))
    propose(application, "new")
    file(application)
    switch.answer()
    file(application)
    assert [event["update"] for event in events(tmp_path, event_log.UPDATE_REFUSED)] == ["new"]


def test_a_plan_that_is_withdrawn_while_it_is_read_is_given_up(application: KuijiaController, tmp_path: Path) -> None:
    save_plan(motivation_plan(LIGHTER), tmp_path / "plan.json")
    application._source.ask()
    reading = application._source.read_if_asked(application._control.rollout)
    application._source.ask_to_withdraw()
    application.time_passed(Tick())
    application.time_passed(Tick(reading))
    file(application)
    assert application._control.rollout.is_settled
    (refused,) = events(tmp_path, event_log.UPDATE_REFUSED)
    assert refused["reason"] == "it was withdrawn"
    assert load_plan(tmp_path / "plan.json").pairs == motivation_plan().pairs


def test_a_plan_that_is_asked_for_after_a_withdrawal_is_followed(application: KuijiaController, tmp_path: Path) -> None:
    application._source.ask()
    application._source.ask_to_withdraw()
    save_plan(motivation_plan(LIGHTER), tmp_path / "plan.json")
    application._source.ask()
    reading = application._source.read_if_asked(application._control.rollout)
    application.time_passed(Tick(reading))
    file(application)
    assert events(tmp_path, event_log.UPDATE_REFUSED) == []
    assert not application._control.rollout.is_settled


def test_an_update_that_is_asked_for_twice_is_not_told_to_have_been_given_up(
    application: KuijiaController, tmp_path: Path
) -> None:
    connected(application, S1)
    for _ in range(2):
        propose(application, "new")
        file(application)
    assert events(tmp_path, event_log.UPDATE_REFUSED) == []


def asked_for_more(application: KuijiaController) -> tuple[ModelSwitch, list[FlowEntry]]:
    """Return a switch that has its tables, and entries beyond these that are on their way to it in a bundle."""
    switch = ModelSwitch(application, box(application, "s1"), failing)
    switch.connect()
    switch.answer()
    tables = application._control.rollout.wanted("s1")
    more = [FlowEntry(number, Match(in_port=2), (Output(3),)) for number in range(1, 2 * BATCH)]
    application.switches.connections["s1"].want(SwitchTables(tables.groups, (*tables.flows, *more)))
    return switch, more


def test_a_single_change_is_not_done_before_a_bundle_that_is_on_its_way(application: KuijiaController) -> None:
    switch, more = asked_for_more(application)
    connection, tables = application.switches.connections["s1"], application._control.rollout.wanted("s1")
    more[-1] = replace(more[-1], actions=(Output(1),))
    connection.want(SwitchTables(tables.groups, (*tables.flows, *more)))
    switch.answer()
    assert not switch.box.differs_from(SwitchTables(tables.groups, (*tables.flows, *more)))


def test_a_bundle_that_is_given_up_half_way_is_discarded(application: KuijiaController) -> None:
    """Open vSwitch would drop it after ten seconds, another switch never."""
    switch, _ = asked_for_more(application)
    switch.answer(BATCH)
    assert len(switch.open_bundles) == 1
    application.switches.connections["s1"].read_again()
    switch.answer()
    assert not switch.open_bundles
    assert not switch.box.differs_from(application._control.rollout.wanted("s1"))


def test_a_bundle_that_is_committed_is_not_discarded(application: KuijiaController) -> None:
    switch = ModelSwitch(application, box(application, "s1"), failing)
    switch.connect()
    switch.answer()
    first = len(switch.sent)
    application.switches.connections["s1"].read_again()
    switch.answer()
    assert not any(isinstance(message, PARSER.ONFBundleCtrlMsg) for message in switch.sent[first:])


def test_an_error_about_what_was_sent_before_the_last_look_at_the_tables_changes_nothing(
    application: KuijiaController, tmp_path: Path
) -> None:
    """Open vSwitch complains about a bundle that was given up ten seconds later."""
    switch = connected(application, S1)
    early = switch.changes()[0]
    application.switches.connections["s1"].read_again()
    switch.answer()
    sent = len(switch.sent)
    switch.refuse(early, ofproto.OFPET_GROUP_MOD_FAILED, ofproto.OFPGMFC_OUT_OF_GROUPS)
    switch.answer()
    assert len(switch.sent) == sent
    assert events(tmp_path, event_log.SWITCH_ERROR) == []


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (ofproto.OFPET_GROUP_MOD_FAILED, ofproto.OFPGMFC_UNKNOWN_GROUP),
        (ofproto.OFPET_GROUP_MOD_FAILED, ofproto.OFPGMFC_GROUP_EXISTS),
        (ofproto.OFPET_BAD_ACTION, ofproto.OFPBAC_BAD_OUT_GROUP),
    ],
)
def test_a_switch_whose_groups_somebody_changes_while_it_is_programmed_is_programmed_at_once(
    application: KuijiaController, tmp_path: Path, kind: int, code: int
) -> None:
    switch = FakeSwitch(application, S1)
    switch.connect()
    answer_until(switch, PARSER.OFPGroupMod)
    switch.refuse(switch.changes()[0], kind, code)
    switch.answer()
    assert events(tmp_path, event_log.SWITCH_REFUSED) == []
    assert [event["switch"] for event in events(tmp_path, event_log.SWITCH_READY)] == ["s1"]
