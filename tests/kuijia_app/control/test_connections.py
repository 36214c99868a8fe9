"""The application answers switches message by message, whatever the framework's threads do."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kuijia_app.control import switch_connection, switches
from kuijia_app.control.findings import FindingKey, FindingKind, SwitchFinding
from kuijia_app.control.pair import Pair
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.roles import DENIALS, first_generation, term_of
from kuijia_app.control.sliced_work import SLICE, SlicedWork
from kuijia_app.control.snapshot import Poll, Room
from kuijia_app.control.switch_connection import FIRST_PROBE_XID, LAST_PROBE_XID
from kuijia_app.controller import KuijiaController, Tick
from kuijia_app.framework import event_log
from kuijia_app.framework.seam import ofproto
from kuijia_app.framework.switch_limits import SwitchFaultError
from kuijia_app.gate.frames import FIRST_POLL_XID, LAST_POLL_XID
from kuijia_app.tables.identifiers import COOKIE, is_own_group, last_resort_group, liveness_group
from kuijia_app.tables.rules import FlowEntry, Match, Output, SwitchTables
from te_solver.formats.plan_file import load_plan, save_plan
from te_solver.model.plan import Plan
from tests.kuijia_app.control.applications import application_of
from tests.kuijia_app.control.fake_switch import PARSER, S1, S2, T1, FakeSwitch, connected, events
from tests.kuijia_app.control.model_switch import Box, ModelSwitch
from tests.kuijia_app.control.test_late_answers import answer_until
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of

REREADS_BURST, REREADS_RATE = 8.0, 0.5


def test_a_switch_is_known_by_its_features_before_its_connection_has_an_id(application: KuijiaController) -> None:
    switch = connected(application, S1)
    assert sum(isinstance(message, PARSER.OFPFlowMod) for message in switch.sent) > 1


def test_a_port_list_in_several_parts_is_judged_as_a_whole(application: KuijiaController) -> None:
    ingress = connected(application, S1)
    switch = FakeSwitch(application, S2)
    switch.ports_in_a_part = 1
    switch.connect()
    switch.answer()
    assert ingress.emptied_groups() == []
    switch.ports[2] = False
    switch.connect()
    switch.answer()
    assert ingress.emptied_groups() == [liveness_group(T1)]


def test_every_message_of_ours_has_an_id_of_its_own(application: KuijiaController) -> None:
    switch = connected(application, S1)
    barriers = [message.xid for message in switch.sent if isinstance(message, PARSER.OFPBarrierRequest)]
    assert len(barriers) == len(set(barriers)) == 4
    ids = [message.xid for message in switch.sent if not isinstance(message, PARSER.ONFBundleCtrlMsg)]
    assert len(ids) == len(set(ids))


def test_ids_of_probes_and_of_polls_begin_again_after_their_last(application: KuijiaController) -> None:
    switch = connected(application, S1)
    connection = application.switches.connections["s1"]

    def ids(first: int, last: int, name: str, ask: Callable[[], None]) -> list[int]:
        asked = []
        for before in (first - 1, first, last - 1, last):
            setattr(connection, name, before)
            sent = len(switch.sent)
            ask()
            asked.append(switch.sent[sent].xid)
            connection._room_asked.clear()
        return asked

    def probe() -> None:
        connection.send_frames([(1, b"frame")], 0, lambda: None)

    assert connection._last_poll == FIRST_POLL_XID - 1
    polls = ids(FIRST_POLL_XID, LAST_POLL_XID, "_last_poll", lambda: connection.ask_for_room(Room.OF_GROUPS))
    assert polls == [FIRST_POLL_XID, FIRST_POLL_XID + 1, LAST_POLL_XID, FIRST_POLL_XID]
    first = [message.xid for message in switch.sent if FIRST_PROBE_XID <= message.xid <= LAST_PROBE_XID]
    assert first == [*range(FIRST_PROBE_XID, FIRST_PROBE_XID + len(first))]
    probes = ids(FIRST_PROBE_XID, LAST_PROBE_XID, "_last_probe", probe)
    assert probes == [FIRST_PROBE_XID, FIRST_PROBE_XID + 1, LAST_PROBE_XID, FIRST_PROBE_XID]


def test_ids_of_messages_for_hosts_begin_again_below_those_of_probes(application: KuijiaController) -> None:
    switch = connected(application, S1)
    connection = application.switches.connections["s1"]
    questions = [PARSER.OFPEchoRequest(switch) for _ in range(3)]
    connection.send_for_hosts(questions[:1])
    assert questions[0].xid == connection._last_neighbour
    connection._last_neighbour = FIRST_PROBE_XID - 2
    connection.send_for_hosts(questions[1:])
    assert [each.xid for each in questions[1:]] == [FIRST_PROBE_XID - 1, 1 << 28]


def test_entries_are_sent_once_all_groups_are_acknowledged(application: KuijiaController) -> None:
    switch = connected(application, S1)
    kinds = [type(message) for message in switch.sent]
    last_group = max(position for position, kind in enumerate(kinds) if kind is PARSER.OFPGroupMod)
    first_entry = kinds.index(PARSER.OFPFlowMod)
    assert PARSER.OFPBarrierRequest in kinds[last_group:first_entry]


def test_all_changes_of_an_ingress_after_a_failure_wait_for_one_answer_at_most(tmp_path: Path) -> None:
    topology = both_ways("star", "a b c d e", "a-b b-c c-d c-e")
    with application_of(plan_of(topology, "a-b-c", "a-b-c-d", "a-b-c-e"), tmp_path) as application:
        ingress, transit = connected(application, 1), connected(application, 2)
        sent = len(ingress.sent)
        transit.port_goes(2, live=False)
        assert len(ingress.emptied_groups()) == 3
        assert sum(isinstance(message, PARSER.OFPBarrierRequest) for message in ingress.sent[sent:]) == 1


def test_a_reply_to_a_barrier_that_was_never_sent_changes_nothing_and_asks_for_nothing(
    application: KuijiaController, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = connected(application, S1)
    monkeypatch.setattr(application, "_answered", lambda: pytest.fail("something is done"))
    sent = len(switch.sent)
    application.barrier_replied(switch._event(xid=1_000_000))
    assert len(switch.sent) == sent


def test_an_error_about_a_message_that_was_never_sent_changes_nothing(
    application: KuijiaController, tmp_path: Path
) -> None:
    ingress, switch = connected(application, S1), connected(application, S2)
    for xid in (0, 1_000_000):
        for each in (ingress, switch):
            message = SimpleNamespace(xid=xid)
            each.refuse(message, ofproto.OFPET_ROLE_REQUEST_FAILED, ofproto.OFPRRFC_STALE)
            each.refuse(message, ofproto.OFPET_GROUP_MOD_FAILED, ofproto.OFPGMFC_OUT_OF_GROUPS)
    assert [events(tmp_path, kind) for kind in (event_log.ROLE_LOST, event_log.SWITCH_ERROR)] == [[], []]
    switch.port_goes(2, live=False)
    assert ingress.emptied_groups() != []


def test_what_an_old_connection_still_says_is_not_taken_for_the_new_one(application: KuijiaController) -> None:
    old, new = FakeSwitch(application, S1), FakeSwitch(application, S1)
    old.connect()
    new.connect()
    before = len(new.sent)
    old.answer()
    application.switch_disconnected(SimpleNamespace(datapath=old))
    assert len(new.sent) == before
    new.answer()
    assert sum(isinstance(message, PARSER.OFPFlowMod) for message in new.sent) > 1


@pytest.mark.parametrize("answers", range(1, 12))
def test_a_switch_that_leaves_while_it_is_programmed_is_programmed_when_it_is_back(
    application: KuijiaController, tmp_path: Path, answers: int
) -> None:
    left = FakeSwitch(application, S1)
    left.connect()
    left.answer(at_most=answers)
    application.switch_disconnected(SimpleNamespace(datapath=left))
    before = len(left.sent)
    back = connected(application, S1)
    left.answer()
    assert len(left.sent) == before
    assert len(events(tmp_path, event_log.SWITCH_READY)) >= 1
    assert sum(isinstance(message, PARSER.OFPFlowMod) for message in back.sent) > 1


def test_a_refusal_is_named_and_what_was_done_is_undone(application: KuijiaController, tmp_path: Path) -> None:
    switch = FakeSwitch(application, S2)
    switch.refuses = PARSER.OFPFlowMod
    switch.connect()
    switch.answer()
    named = [(event["switch"], event["error"]) for event in events(tmp_path, event_log.SWITCH_ERROR)]
    ((name, error),) = named
    assert name == "s2"
    assert re.fullmatch(
        r"OFPET_GROUP_MOD_FAILED/OFPGMFC_OUT_OF_GROUPS: it needs [1-9]\d* entries and \d+ groups,"
        r" and had 0 and 0 of ours when it was read",
        error,
    )
    assert events(tmp_path, event_log.SWITCH_READY) == []
    assert len(events(tmp_path, event_log.SWITCH_REFUSED)) == 1


def test_a_switch_that_is_full_is_asked_how_much_it_can_hold(
    application: KuijiaController, caplog: pytest.LogCaptureFixture
) -> None:
    switch = FakeSwitch(application, S1)
    switch.refuses = PARSER.OFPGroupMod
    switch.connect()
    switch.answer()
    (question,) = [each for each in switch.sent if isinstance(each, PARSER.OFPGroupFeaturesStatsRequest)]
    most = (9, 12, 7, 2)  # of all, select, indirect and fast failover groups
    body = bytes(8) + b"".join(each.to_bytes(4, "big") for each in most) + bytes(16)
    answer: Any = SimpleNamespace(datapath=switch, answer=SimpleNamespace(xid=question.xid, bodies=[body]))
    for _ in range(2):
        application.poll_answered(answer)
    told = [record.message for record in caplog.records if "has room for" in record.message]
    assert told == ["switch s1: it has room for 12 groups of type select and 2 groups of type fast failover"]


def test_a_switch_that_refuses_messages_without_end_is_read_again_a_few_times_and_then_once_in_a_while(
    application: KuijiaController, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(application._runtime, "now", lambda: now)
    switch = connected(application, S1)
    application.time_passed(Tick())

    def readings_after(refusals: int) -> int:
        before = sum(isinstance(message, PARSER.OFPGroupDescStatsRequest) for message in switch.sent)
        for _ in range(refusals):
            latest = next(message for message in reversed(switch.sent) if message.xid < FIRST_PROBE_XID)
            switch.refuse(latest, ofproto.OFPET_GROUP_MOD_FAILED, ofproto.OFPGMFC_OUT_OF_GROUPS)
            switch.answer()
            application.time_passed(Tick())
            switch.answer()
        return sum(isinstance(message, PARSER.OFPGroupDescStatsRequest) for message in switch.sent) - before

    assert 1 <= readings_after(25) <= REREADS_BURST + 2
    now += 1.0 / REREADS_RATE
    application.time_passed(Tick())
    switch.answer()
    assert application.switches.connections["s1"]._sender is not None, "it is read in the end, though it goes on"
    assert readings_after(25) <= 2


def test_a_liveness_that_the_switch_refuses_is_not_logged_as_told(
    application: KuijiaController, tmp_path: Path
) -> None:
    ingress, switch = connected(application, S1), connected(application, S2)
    ingress.refuses = PARSER.OFPGroupMod
    switch.port_goes(2, live=False)
    ingress.answer()
    assert events(tmp_path, event_log.TUNNEL_LIVENESS) == []
    assert 1 <= len(events(tmp_path, event_log.SWITCH_ERROR)) <= 2


@pytest.mark.parametrize(
    ("error_type", "code"),
    [
        (ofproto.OFPET_BAD_REQUEST, ofproto.OFPBRC_IS_SLAVE),
        (ofproto.OFPET_ROLE_REQUEST_FAILED, ofproto.OFPRRFC_STALE),
    ],
)
def test_a_controller_that_is_no_longer_the_master_says_so_once_and_keeps_quiet(
    application: KuijiaController, tmp_path: Path, error_type: int, code: int
) -> None:
    ingress, switch = connected(application, S1), connected(application, S2)
    for each in (ingress, switch):
        each.refuse(each.changes()[0], error_type, code)
    before = len(ingress.sent)
    switch.port_goes(2, live=False)
    assert len(ingress.sent) == before
    assert len(events(tmp_path, event_log.ROLE_LOST)) == 1
    assert events(tmp_path, event_log.SWITCH_ERROR) == []


def test_every_connection_claims_the_role_of_the_master_with_one_generation_id(application: KuijiaController) -> None:
    switches = connected(application, S1), connected(application, S2)
    claims = [message for each in switches for message in each.sent if isinstance(message, PARSER.OFPRoleRequest)]
    assert [message.role for message in claims] == [ofproto.OFPCR_ROLE_NOCHANGE, ofproto.OFPCR_ROLE_MASTER] * 2
    assert len({message.generation_id for message in claims[1::2]}) == 1


def test_a_controller_claims_all_switches_anew_above_an_id_that_one_of_them_has_seen(
    application: KuijiaController,
) -> None:
    early = connected(application, S1)
    late = FakeSwitch(application, S2)
    late.generation = first_generation(70, 3)
    late.connect()
    for each in (early, late):
        (claim,) = [message for message in each.sent if isinstance(message, PARSER.OFPRoleRequest)][-1:]
        assert (claim.role, term_of(claim.generation_id)) == (ofproto.OFPCR_ROLE_MASTER, 71)


def test_a_switch_that_comes_back_from_a_later_controller_is_left_to_it(
    application: KuijiaController, tmp_path: Path
) -> None:
    connected(application, S1)
    again = FakeSwitch(application, S1)
    again.generation = first_generation(2, 0)
    again.connect()
    again.answer()
    assert len(events(tmp_path, event_log.ROLE_LOST)) == 1
    assert len(again.sent) == again.answered_at_once


def test_a_switch_without_the_ports_of_the_plan_is_told_of_and_left_alone(
    application: KuijiaController, tmp_path: Path
) -> None:
    switch = FakeSwitch(application, S1)
    del switch.ports[3]
    switch.connect()
    switch.answer()
    (event,) = events(tmp_path, event_log.SWITCH_UNFIT)
    assert (event["switch"], event["problem"]) == (
        "s1",
        "has no port 3: the plan expects ports 1 to 4, to s2, s3, s4 and the site's host",
    )
    assert switch.changes() == []


def test_a_switch_whose_missing_port_appears_is_programmed(application: KuijiaController, tmp_path: Path) -> None:
    switch = FakeSwitch(application, S1)
    del switch.ports[3]
    switch.connect()
    switch.answer()
    switch.ports[3] = True
    switch.port_goes(3, live=True)
    switch.answer()
    assert switch.changes() != []
    assert [event["switch"] for event in events(tmp_path, event_log.SWITCH_READY)] == ["s1"]


def test_a_switch_that_still_lacks_a_port_is_left_alone_when_another_changes(application: KuijiaController) -> None:
    switch = FakeSwitch(application, S1)
    del switch.ports[3]
    switch.connect()
    switch.answer()
    switch.port_goes(2, live=False)
    switch.answer()
    assert switch.changes() == []


def paired(application: KuijiaController) -> Pair:
    pair = Pair(1, application._runtime.now())
    application.roles.join(pair)
    return pair


def roles_of(switch: FakeSwitch) -> list[int]:
    asked = (message for message in switch.sent if isinstance(message, PARSER.OFPRoleRequest))
    return [message.role for message in asked if message.role != ofproto.OFPCR_ROLE_NOCHANGE]


def test_a_controller_that_stands_by_is_a_slave_once_the_switch_has_an_id(application: KuijiaController) -> None:
    paired(application)
    switch = connected(application, S1)
    assert roles_of(switch) == []
    switch.generation = first_generation(3, 9)
    application.switches.connections["s1"].poll_role()
    switch.answer()
    assert roles_of(switch) == [ofproto.OFPCR_ROLE_SLAVE]
    application.switches.connections["s1"].poll_role()
    switch.answer()
    assert roles_of(switch) == [ofproto.OFPCR_ROLE_SLAVE]


def test_a_slave_claims_its_role_again_if_the_id_has_grown_meanwhile(application: KuijiaController) -> None:
    paired(application)
    switch = FakeSwitch(application, S1)
    switch.generation = first_generation(3, 9)
    switch.connect()
    (claim,) = (each for each in switch.sent if getattr(each, "role", None) == ofproto.OFPCR_ROLE_SLAVE)
    switch.refuse(claim, ofproto.OFPET_ROLE_REQUEST_FAILED, ofproto.OFPRRFC_STALE)
    application.switches.connections["s1"].poll_role()
    switch.answer()
    assert roles_of(switch).count(ofproto.OFPCR_ROLE_SLAVE) == 2


def test_a_controller_that_takes_over_while_a_switch_tells_its_id_renews_its_claim_there(
    application: KuijiaController,
) -> None:
    pair = paired(application)
    switch = FakeSwitch(application, S1)
    switch.connect()
    connection = application.switches.connections["s1"]
    connection.ask_for_role()
    pair.is_acting = True
    application.roles._take_over()
    switch.answer()
    claims = roles_of(switch).count(ofproto.OFPCR_ROLE_MASTER)
    connection.claim_again(application.roles.claims.renewed())
    assert roles_of(switch).count(ofproto.OFPCR_ROLE_MASTER) == claims + 1


def test_a_switch_that_comes_again_and_again_without_its_ports_is_told_of_ever_less_often(
    application: KuijiaController, tmp_path: Path
) -> None:
    for _ in range(50):
        switch = FakeSwitch(application, S1)
        del switch.ports[3]
        switch.connect()
        switch.answer()
        application.switch_disconnected(SimpleNamespace(datapath=switch))
    assert len(events(tmp_path, event_log.SWITCH_UNFIT)) < 5


def test_that_a_plan_is_given_up_is_told_when_the_plan_file_holds_the_one_before(
    application: KuijiaController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.json"
    held: dict[str, Plan] = {}
    monkeypatch.setattr(application._runtime.log, "write", lambda event, **_: held.update({event: load_plan(path)}))
    save_plan(plan_of(both_ways("other", "a b", "a-b"), "a-b"), path)
    application._source.ask()
    application.time_passed(Tick(application._source.read_if_asked(application._control.rollout)))
    for then in application._filed():
        application.time_passed(Tick(then=then))
    assert held[event_log.UPDATE_REFUSED] == motivation_plan()


def test_between_slices_of_a_large_programming_events_have_their_turn(
    application: KuijiaController, tmp_path: Path
) -> None:
    looks = count()
    application._runtime.sliced_work = SlicedWork(lambda: next(looks) * SLICE, lambda: None)
    other = connected(application, S2)
    switch = connected(application, S1)
    wanted = application._control.rollout.wanted("s1")
    changes = len(wanted.groups) + len(wanted.flows)
    turns, sent = 0, len(switch.changes())
    while len(switch.changes()) < changes:
        application.time_passed(Tick())
        switch.answer()
        turns += 1
        assert len(switch.changes()) <= sent + 3  # a step for the tick, and for each of its answers
        sent = len(switch.changes())
        if sent == changes // 2 and not events(tmp_path, event_log.PORT_STATUS):
            other.port_goes(1, live=False)
            assert len(events(tmp_path, event_log.PORT_STATUS)) == 1
    assert turns >= changes // 2


@pytest.mark.parametrize("comes_back", [False, True])
def test_work_put_off_for_a_connection_that_has_ended_is_not_done(
    application: KuijiaController, tmp_path: Path, *, comes_back: bool
) -> None:
    switch = connected(application, S1)
    looks = count()
    work = application._runtime.sliced_work = SlicedWork(lambda: next(looks) * SLICE, lambda: None)
    application.switches.connections["s1"]._later = work.add
    with work.gathered():
        application.switches.want(["s1"])
    if comes_back:
        FakeSwitch(application, S1).connect()
    else:
        application.switch_disconnected(SimpleNamespace(datapath=switch))
    sent, ready = len(switch.sent), events(tmp_path, event_log.SWITCH_READY)
    while work._left:
        application.time_passed(Tick())
    assert len(switch.sent) == sent
    assert events(tmp_path, event_log.SWITCH_READY) == ready


def test_no_switch_is_taken_to_have_tables_that_it_has_not_been_compared_with(application: KuijiaController) -> None:
    switch = connected(application, S1)
    connection = application.switches.connections["s1"]
    looks = count()
    application._runtime.sliced_work = SlicedWork(lambda: next(looks) * SLICE, lambda: None)
    connection._later = application._runtime.sliced_work.add
    before = application._control.rollout.wanted("s1")
    wanted = SwitchTables(before.groups, before.flows[:-1])
    done: list[SwitchTables] = []
    connection._reports = replace(connection._reports, done=done.append)
    with application._runtime.sliced_work.gathered():
        connection.want(before)
        connection.want(wanted)
    switch.answer()
    while not done:
        application.time_passed(Tick())
        switch.answer()
    assert switch.changes()[-1].command == ofproto.OFPFC_DELETE_STRICT


def boxed(application: KuijiaController, box: Box) -> ModelSwitch:
    switch = ModelSwitch(application, box, pytest.fail)
    switch.connect()
    switch.answer()
    return switch


def box_of(application: KuijiaController, name: str, *, knows_bundles: bool = True) -> Box:
    ports = dict.fromkeys(application.switches.wiring.ports(name), True)
    return Box(name, application.switches.wiring.datapath_id(name), ports, knows_bundles)


def entry_of_others(port: int, cookie: int = COOKIE) -> Any:  # noqa: ANN401  # a class of the untyped parser
    """Return an entry that matches a field which none of our rules does."""
    match = PARSER.OFPMatch(in_port=port, eth_type=0x800, ip_proto=1, icmpv4_type=8)
    return PARSER.OFPFlowMod(FakeSwitch, cookie=cookie, table_id=0, priority=7, match=match, instructions=[])


@pytest.mark.parametrize("knows_bundles", [True, False])
def test_a_switch_that_has_its_tables_is_told_nothing_when_it_comes_again(
    application: KuijiaController, *, knows_bundles: bool
) -> None:
    box = box_of(application, "s1", knows_bundles=knows_bundles)
    first = boxed(application, box)
    assert not box.differs_from(application._control.rollout.wanted("s1"))
    application.switch_disconnected(SimpleNamespace(datapath=first))
    assert boxed(application, box).changes() == []


def test_a_switch_that_comes_again_gets_what_it_lacks_and_loses_what_is_ours_and_not_wanted(
    application: KuijiaController,
) -> None:
    box = box_of(application, "s1")
    application.switch_disconnected(SimpleNamespace(datapath=boxed(application, box)))
    group_id = last_resort_group(4, 0)
    foreign = next(number for number in range(1, 2**32, 2**20 + 1) if not is_own_group(number))
    box.groups[foreign] = PARSER.OFPGroupMod(FakeSwitch, 0, ofproto.OFPGT_SELECT, foreign, [])
    box.groups[group_id] = PARSER.OFPGroupMod(FakeSwitch, 0, box.groups[group_id].type, group_id, [])
    ours, theirs = entry_of_others(1), entry_of_others(2, cookie=5)
    box.flows |= {(0, 7, repr(sorted(each.match.items()))): each for each in (ours, theirs)}
    del box.flows[next(name for name, each in box.flows.items() if each.priority not in {0, 7})]
    again = boxed(application, box)
    assert box.groups.pop(foreign) is not None
    assert not box.differs_from(application._control.rollout.wanted("s1"))
    assert ours not in box.flows.values()
    assert theirs in box.flows.values()
    assert len(again.changes()) <= 3


def test_a_tunnel_that_an_earlier_controller_held_for_dead_is_so_until_the_other_switches_tell(
    tmp_path: Path,
) -> None:
    with application_of(motivation_plan(), tmp_path) as first:
        box = box_of(first, "s1")
        ingress, transit = boxed(first, box), boxed(first, box_of(first, "s2"))
        transit.port_goes(2, live=False)
        ingress.answer()
    with application_of(motivation_plan(), tmp_path) as second:
        again = boxed(second, box)
        assert second._control.tracker.dead_path_ids("s1") == {T1}
        assert again.changes() == []
        for switch in ("s2", "s4"):
            boxed(second, box_of(second, switch))
        assert second._control.tracker.dead_path_ids("s1") == frozenset()


def test_a_switch_may_not_describe_more_than_so_many_ports_groups_and_entries(application: KuijiaController) -> None:
    for most in (4, 3):  # it has four ports
        switch = FakeSwitch(application, S1)
        switch.connect()
        application.switches.connections["s1"]._most_entries = most
        with nullcontext() if most == 4 else pytest.raises(SwitchFaultError, match="more than 3 ports"):
            switch.answer()


def test_a_switch_may_not_describe_more_than_so_many_entries_unlike_our_rules(
    application: KuijiaController, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = box_of(application, "s1")
    box.flows = {(0, port, ""): entry_of_others(port) for port in (1, 2)}
    for most in (2, 1):
        monkeypatch.setattr(switch_connection, "MOST_UNKNOWN_ENTRIES", most)
        switch = ModelSwitch(application, box, pytest.fail)
        switch.connect()
        answer_until(switch, PARSER.OFPFlowStatsRequest)
        with nullcontext() if most == 2 else pytest.raises(SwitchFaultError, match="unlike our rules"):
            switch.answer(1)


def test_a_switch_is_asked_once_how_much_it_can_hold_until_it_answers_or_refuses(
    application: KuijiaController,
) -> None:
    switch = connected(application, S1)
    connection = application.switches.connections["s1"]
    told: list[tuple[Room, Mapping[int, int]]] = []
    connection._reports = replace(connection._reports, room_told=lambda *its: told.append(its))
    for room in (Room.OF_GROUPS, Room.OF_GROUPS, Room.OF_ENTRIES):
        connection.ask_for_room(room)
    asked = [each for each in switch.sent if each.xid >= FIRST_POLL_XID]
    assert len(asked) == 2
    switch.refuse(asked[0], ofproto.OFPET_BAD_REQUEST, ofproto.OFPBRC_BAD_MULTIPART)
    assert told == [(Room.OF_GROUPS, {})]
    connection.give_up()
    connection.ask_for_room(Room.OF_GROUPS)
    assert len([each for each in switch.sent if each.xid >= FIRST_POLL_XID]) == 2


def test_a_refused_entry_beside_the_tables_is_told_as_such_until_it_is_acknowledged(
    application: KuijiaController,
) -> None:
    switch = connected(application, S1)
    connection = application.switches.connections["s1"]
    told: list[SwitchTables | None] = []
    connection._reports = replace(connection._reports, refused=lambda tables, _: told.append(tables))
    entry = FlowEntry(300, Match(in_port=2), (Output(3),))
    connection.want_besides({FlowKey.of(entry): entry})
    assert not isinstance(switch.sent[-1], PARSER.OFPFlowMod)
    connection.proceed()
    sent = switch.changes()[-1]
    assert sent.priority == 300
    switch.refuse(sent, ofproto.OFPET_FLOW_MOD_FAILED, ofproto.OFPFMFC_TABLE_FULL)
    assert told == [None]
    switch.answer()
    connection.want_besides({FlowKey.of(entry): entry})
    connection.proceed()
    sent = switch.changes()[-1]
    switch.answer()
    switch.refuse(sent, ofproto.OFPET_FLOW_MOD_FAILED, ofproto.OFPFMFC_TABLE_FULL)
    assert told[1:] == [application._control.rollout.wanted("s1")]


def test_tables_that_are_wanted_after_a_switch_was_read_again_are_put_on_it_though_others_were_put_off(
    application: KuijiaController,
) -> None:
    box = box_of(application, "s1")
    switch = boxed(application, box)
    connection, looks = application.switches.connections["s1"], count()
    work = application._runtime.sliced_work = SlicedWork(lambda: next(looks) * SLICE, lambda: None)
    connection._later = work.add
    work.add(iter([None] * 3))
    wanted = application._control.rollout.wanted("s1")
    connection.want(SwitchTables(wanted.groups, wanted.flows[:-1]))
    connection.read_again()
    box.restart()
    switch.answer()
    while work._left:
        work.work()
        switch.answer()
    assert not box.differs_from(wanted)


def test_a_single_change_needs_no_bundle(application: KuijiaController) -> None:
    box = box_of(application, "s1")
    switch = boxed(application, box)
    wanted, sent = application._control.rollout.wanted("s1"), len(switch.sent)
    fewer = SwitchTables(wanted.groups, wanted.flows[:-1])
    application.switches.connections["s1"].want(fewer)
    switch.answer()
    assert not box.differs_from(fewer)
    assert not any(isinstance(each, PARSER.ONFBundleCtrlMsg) for each in switch.sent[sent:])


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_claim_is_taken_once_the_switch_has_acknowledged_it_unless_it_refuses(
    application: KuijiaController, *, is_refused: bool
) -> None:
    switch, taken = connected(application, S1), []
    connection = application.switches.connections["s1"]
    connection.claim_again(application.roles.claims.renewed(), lambda: taken.append(1))
    claim = switch.sent[-2]
    assert claim.role == ofproto.OFPCR_ROLE_MASTER
    assert taken == []
    if is_refused:
        switch.refuse(claim, ofproto.OFPET_ROLE_REQUEST_FAILED, ofproto.OFPRRFC_STALE)
    switch.answer()
    assert taken == [1] * (not is_refused)


def test_a_port_that_is_taken_out_while_the_switch_describes_itself_is_not_there(
    application: KuijiaController, tmp_path: Path
) -> None:
    switch = FakeSwitch(application, S1)
    switch.connect()
    answer_until(switch, PARSER.OFPGroupDescStatsRequest)
    description = SimpleNamespace(port_no=3, name=b"", config=0, state=0)
    application.port_status(switch._event(desc=description, reason=ofproto.OFPPR_DELETE))
    switch.answer()
    assert len(events(tmp_path, event_log.SWITCH_UNFIT)) == 1
    assert switch.changes() == []


def test_refused_probes_and_messages_for_hosts_say_nothing_of_tables(application: KuijiaController) -> None:
    switch = connected(application, S1)
    connection = application.switches.connections["s1"]
    told: list[str] = []
    connection._reports = replace(
        connection._reports,
        probe_refused=lambda _: told.append("probe"),
        neighbour_refused=lambda _: told.append("host"),
        refused=lambda *_: told.append("tables"),
    )
    connection.send_frames([(1, b"frame")], 0, lambda: None)
    probe = switch.sent[-2]
    connection.send_for_hosts([PARSER.OFPEchoRequest(switch)])
    hosts = switch.sent[-1]
    for message in (probe, hosts, SimpleNamespace(xid=probe.xid + 1), SimpleNamespace(xid=hosts.xid + 1)):
        switch.refuse(message, ofproto.OFPET_BAD_REQUEST, ofproto.OFPBRC_BAD_PORT)
    assert told == ["probe", "host"]


def test_switches_outside_the_network_are_named_once_up_to_a_number_of_them(
    application: KuijiaController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switches, "MOST_UNKNOWN_NAMED", 2)
    for datapath_id in (91, 91, 92, 93, 94, 91):
        stranger = FakeSwitch(application, datapath_id)
        stranger.connect()
        assert stranger.sent == []
    told = [int(event["datapath_id"], 16) for event in events(tmp_path, event_log.SWITCH_UNKNOWN)]
    assert told == [91, 92, 93]  # those beyond the number count as one
    assert application.switches.connections == {}


def test_refusals_are_named_once_each_up_to_a_number_of_them(
    application: KuijiaController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switches, "MOST_ERRORS", 2)
    for switch in ("s1", "s2"):
        for error in ("one", "one", "two", "three", "four", "one"):
            application.switches.note_refusal(event_log.SWITCH_ERROR, switch, error)
    told = [(event["switch"], event["error"]) for event in events(tmp_path, event_log.SWITCH_ERROR)]
    assert told == [(switch, error) for switch in ("s1", "s2") for error in ("one", "two", "three")]


def test_a_connection_has_one_datapath_id(application: KuijiaController) -> None:
    switch = connected(application, S1)
    with pytest.raises(SwitchFaultError, match="second datapath id"):
        application.switches.connected(S2, switch)
    application.switches.connected(S1, switch)
    assert list(application.switches.connections) == ["s1"]


def test_a_switch_may_describe_more_the_larger_its_tables_are(
    application: KuijiaController, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = application._control.rollout.wanted("s1")
    its = 3 * (len(wanted.groups) + len(wanted.flows))
    for least, most in ((its + 1, its + 1), (its - 1, its)):
        monkeypatch.setattr(switches, "MOST_ENTRIES", least)
        monkeypatch.setattr(switches, "ENTRIES_PER_WANTED", 3)
        connected(application, S1)
        assert application.switches.connections["s1"]._most_entries == most


@pytest.mark.parametrize("is_known", [True, False])
def test_a_connection_that_is_dropped_is_told_of_and_closed(
    application: KuijiaController, tmp_path: Path, *, is_known: bool
) -> None:
    switch = connected(application, S1) if is_known else FakeSwitch(application, S1)
    application.switches.drop(switch, "it lies")
    application.switches.drop(switch, "it lies")
    (told,) = events(tmp_path, event_log.SWITCH_DROPPED)
    assert (told["switch"], told["reason"], told["times"]) == ("s1" if is_known else None, "it lies", 1)
    assert switch.is_closed.wait(9.0)
    assert application.switches.connection(switch) is None


def test_what_was_known_of_a_connection_ends_with_it(application: KuijiaController, tmp_path: Path) -> None:
    switch = connected(application, S1)
    application.switches.wrong_tables.add("s1")
    key = FindingKey(FindingKind.SWITCH_UNWATCHED, "s1")
    application.switches.findings.found(SwitchFinding(key, "it does not answer"), 0.0)
    application.switches._unanswered["s1"] = frozenset((Poll.GROUPS,))
    connection = application.switches.connections["s1"]
    for _ in range(2):
        application.switch_disconnected(SimpleNamespace(datapath=switch))
    assert [event["switch"] for event in events(tmp_path, event_log.SWITCH_GONE)] == ["s1"]
    assert connection.is_given_up
    assert application.switches.connections == {}
    assert not application.switches.wrong_tables
    assert not application.switches._unanswered
    assert list(application.switches.findings) == []


@pytest.mark.parametrize(
    ("reason", "is_told"),
    [
        ("OFPET_BAD_REQUEST/OFPBRC_BAD_LEN", True),
        ("OFPET_BAD_ACTION/OFPBAC_BAD_OUT_PORT", False),
        (min(DENIALS), False),
    ],
)
def test_a_switch_that_refuses_probes_is_named_until_it_is_read_or_connects_again(
    application: KuijiaController, reason: str, *, is_told: bool
) -> None:
    key = FindingKey(FindingKind.SWITCH_UNPROBED, "s1")
    for again in (application.switches.probe_anew, application.switches.forget_probes):
        connected(application, S1)
        application.switches.connections["s1"]._reports.probe_refused(reason)
        assert (key in application.switches.findings) is is_told
        again("s1")
        assert key not in application.switches.findings


def test_findings_are_told_with_their_place_when_they_come_and_when_they_go(
    application: KuijiaController, tmp_path: Path
) -> None:
    key = FindingKey(FindingKind.QUEUE_MISSING, "s1", port=2, detail="1")
    application.switches.findings.found(SwitchFinding(key, "lacks a queue", "make it"), 0.0)
    application.switches.report_findings(0.0)
    (found,) = events(tmp_path, event_log.PROBLEM_FOUND)
    expected = {"kind": key.kind.value, "switch": "s1", "port": 2, "detail": "1", "problem": "lacks a queue"}
    assert found.items() >= {**expected, "what_to_do": "make it", "times": 1}.items()
    application.switches.findings.gone(key, 1.0)
    application.switches.report_findings(1.0)
    (gone,) = events(tmp_path, event_log.PROBLEM_GONE)
    assert gone.items() >= expected.items()
    key = FindingKey(FindingKind.SWITCH_UNPROBED, "s1")
    application.switches.findings.found(SwitchFinding(key, "refuses probes"), 1.0)
    application.switches.report_findings(1.0)
    assert {"port", "detail"}.isdisjoint(events(tmp_path, event_log.PROBLEM_FOUND)[-1])


def test_losses_are_stated_at_their_switches_until_they_end(application: KuijiaController) -> None:
    found = [SwitchFinding(FindingKey(FindingKind.PACKETS_VANISH, f"s{number}"), "they vanish") for number in (1, 2)]
    watch: Any = SimpleNamespace(findings=lambda: found)
    for _ in range(3):
        application.switches.state_losses(watch, 0.0)
        assert list(application.switches.findings) == found
        del found[:1]
