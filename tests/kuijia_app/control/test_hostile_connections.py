"""Switches that send too much, nothing, or what nobody asked for cost the application little."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kuijia_app.controller import KuijiaController, Tick
from kuijia_app.framework import event_log
from kuijia_app.framework.seam import ofproto
from kuijia_app.tables.identifiers import COOKIE
from tests.kuijia_app.control.fake_switch import PARSER, S1, S2, FakeSwitch, connected, events
from tests.kuijia_app.dummy_switches import PATIENCE

MOST_UNKNOWN_NAMED = 16
TICK = 0.05
ANSWER_WITHIN, MOST_ENTRIES = 10.0, 100_000


def test_switches_of_other_networks_without_end_are_summed_up(application: KuijiaController, tmp_path: Path) -> None:
    for datapath_id in range(10**6, 10**6 + 2000):
        connected(application, datapath_id)
    told = events(tmp_path, event_log.SWITCH_UNKNOWN)
    assert len(told) == MOST_UNKNOWN_NAMED + 1
    first = range(10**6, 10**6 + MOST_UNKNOWN_NAMED + 1)
    assert [event["datapath_id"] for event in told] == [f"{each:016x}" for each in first]


def handled(application: KuijiaController, name: str, event: object) -> None:
    """Have the application handle an event as the framework does: through what it has registered."""
    application.register_handler(type(event), getattr(application, name))
    (handler,) = application.event_handlers.pop(type(event))
    handler(event)


def described(switch: FakeSwitch, kind: Any) -> int:  # noqa: ANN401  # a class of the untyped parser
    """The id of the last question of a kind that it was sent."""
    return int([message.xid for message in switch.sent if isinstance(message, kind)][-1])


ODD_MATCH = PARSER.OFPMatch(eth_type=0x0800, ipv4_dst=("10.0.0.0", "255.0.255.0"))


def odd_entries(count: int) -> list[SimpleNamespace]:
    return [
        SimpleNamespace(cookie=COOKIE, table_id=0, priority=number % 0x10000, match=ODD_MATCH, instructions=[])
        for number in range(count)
    ]


def test_statistics_and_errors_that_were_not_asked_for_change_nothing(
    application: KuijiaController, tmp_path: Path
) -> None:
    switch = FakeSwitch(application, S1)
    switch.connect()
    asked = described(switch, PARSER.OFPFlowStatsRequest)
    group = SimpleNamespace(group_id=1, type=ofproto.OFPGT_SELECT, buckets=[])
    before = len(switch.sent)
    for xid in (0, asked - 1, asked + 1, 2**32 - 1):
        application.flows_described(switch._event(xid=xid, body=odd_entries(1), flags=0))
    for xid in (0, asked, 2**32 - 1):
        application.groups_described(switch._event(xid=xid, body=[group], flags=0))
    for xid in (0, 2**32 - 1):
        application.switch_answered_with_an_error(switch._event(xid=xid, type=1, code=1))
        application.barrier_replied(switch._event(xid=xid))
    assert len(switch.sent) == before
    switch.answer()
    assert not any(
        isinstance(each, PARSER.OFPGroupMod) and each.command == ofproto.OFPGC_DELETE for each in switch.sent
    )
    assert events(tmp_path, event_log.SWITCH_ERROR) == []
    assert len(events(tmp_path, event_log.SWITCH_READY)) == 1


def test_an_entry_that_is_none_of_our_rules_is_deleted_whatever_its_mask(application: KuijiaController) -> None:
    switch = FakeSwitch(application, S1)
    switch.connect()
    asked = described(switch, PARSER.OFPFlowStatsRequest)
    application.flows_described(switch._event(xid=asked, body=odd_entries(1), flags=0))
    switch.answer()
    deletions = [
        each
        for each in switch.sent
        if isinstance(each, PARSER.OFPFlowMod) and each.command == ofproto.OFPFC_DELETE_STRICT
    ]
    assert [dict(each.match.items())["ipv4_dst"] for each in deletions] == [("10.0.0.0", "255.0.255.0")]


@pytest.mark.slow
@pytest.mark.parametrize("entries", [0, 3000])
def test_a_description_without_an_end_is_cut_off_and_its_connection_dropped(
    application: KuijiaController, tmp_path: Path, entries: int
) -> None:
    switch = FakeSwitch(application, S1)
    switch.connect()
    part = switch._event(
        xid=described(switch, PARSER.OFPFlowStatsRequest), body=odd_entries(entries), flags=ofproto.OFPMPF_REPLY_MORE
    )
    parts = 0
    while not switch.is_closed.is_set():
        assert parts <= MOST_ENTRIES + 1
        handled(application, "flows_described", part)
        parts += 1
        if entries or parts > MOST_ENTRIES:
            switch.is_closed.wait(0.05)
    (dropped,) = events(tmp_path, event_log.SWITCH_DROPPED)
    assert dropped["switch"] == "s1"
    assert "describes more than" in dropped["reason"]
    before = len(switch.sent)
    switch.answer()
    assert len(switch.sent) == before


def test_a_switch_that_never_answers_a_barrier_is_dropped_and_told_of_ever_more_seldom(
    application: KuijiaController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(application._runtime, "now", lambda: now)
    attempts = 30
    for _ in range(attempts):
        switch = FakeSwitch(application, S1)
        switch.connect()
        begun = now
        while not application.switches.connections["s1"].is_given_up:
            application.time_passed(Tick(None))
            now += TICK
        assert now - begun == pytest.approx(ANSWER_WITHIN, abs=0.2)
        assert switch.is_closed.wait(PATIENCE)
        application.switch_disconnected(SimpleNamespace(datapath=switch))
    told = events(tmp_path, event_log.SWITCH_DROPPED)
    assert "has owed an answer" in told[0]["reason"]
    assert 2 <= len(told) < attempts / 3
    assert told[0]["times"] == 1


def test_ports_that_the_plan_does_not_have_leave_nothing_behind_and_cost_next_to_nothing(
    application: KuijiaController, tmp_path: Path
) -> None:
    switch = connected(application, S2)
    before = (tmp_path / "events.jsonl").read_bytes()
    began = time.process_time()
    for port in range(100, 20_100):
        switch.port_goes(port, live=False)
    assert time.process_time() - began < 5.0
    assert application.switches.damping._ports == {}
    assert application._control._usable_ports._live["s2"].keys() == {1, 2, 3, 4}
    assert (tmp_path / "events.jsonl").read_bytes() == before


def test_a_flood_of_changes_of_one_port_leaves_the_ingress_and_the_log_a_few_lines(
    application: KuijiaController, tmp_path: Path
) -> None:
    ingress, switch = connected(application, S1), connected(application, S2)
    before = len(ingress.sent)
    for number in range(20_000):
        switch.port_goes(2, live=number % 2 == 1)
        ingress.answer()
    assert len(ingress.sent) - before < 50
    assert len(events(tmp_path, event_log.PORT_STATUS, event_log.TUNNEL_LIVENESS)) < 100


def test_a_connection_is_dropped_without_waiting_for_room_in_our_own_queue(
    application: KuijiaController, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing tells us so by an event: were it done in the loop's own thread, nobody would make room for it."""
    switch = connected(application, S1)
    closed = switch.close

    def tell_and_close() -> None:
        application._send_event(Tick(None), None)
        closed()

    monkeypatch.setattr(switch, "close", tell_and_close)
    for _ in range(application.events.maxsize):
        application._send_event(Tick(None), None)
    application._drop(switch, "it is to go")
    assert not switch.is_closed.is_set()
    application.events.get()
    application._events_sem.release()
    assert switch.is_closed.wait(PATIENCE)


def test_a_connection_that_takes_a_second_datapath_id_is_dropped(application: KuijiaController, tmp_path: Path) -> None:
    switch = FakeSwitch(application, S1)
    switch.connect()
    handled(application, "switch_connected", switch._event(datapath_id=S2, xid=1))
    assert switch.is_closed.wait(PATIENCE)
    assert [event["switch"] for event in events(tmp_path, event_log.SWITCH_DROPPED)] == ["s1"]
    assert "s2" not in application.switches.connections


def test_a_switch_that_refuses_again_and_again_fills_no_log(
    application: KuijiaController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(application._runtime, "now", lambda: now)
    switch = connected(application, S1)
    refused = switch.changes()[0]
    for _ in range(200):
        switch.refuse(refused, ofproto.OFPET_BAD_REQUEST, ofproto.OFPBRC_EPERM)
        switch.answer()
        switch.sent.clear()
        switch._answered = 0
    assert len(events(tmp_path, event_log.SWITCH_ERROR)) == 1
