"""What the application makes of what switches say, message by message, whatever the framework's threads do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kuijia_app.control.chores import SLICE, Chores
from kuijia_app.control.switch_application import MOST_STRANGERS_NAMED
from kuijia_app.controller import OPTION_GROUP, TICK, KuijiaController, Tick
from kuijia_app.framework import event_log
from kuijia_app.framework.seam import cfg, ofproto
from kuijia_app.framework.switch_limits import ANSWER_WITHIN, MOST_ENTRIES
from kuijia_app.tables.identifiers import COOKIE, liveness_group
from kuijia_app.tables.rules import SwitchTables
from te_solver.plan import Plan
from te_solver.plan_file import load_plan, save_plan
from tests.kuijia_app.dummy_switches import PATIENCE
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of

PARSER = import_module("os_ken.ofproto.ofproto_v1_3_parser")
T1 = 16
S1, S2 = 1, 2
"""Datapath ids."""

EMPTYING = (ofproto.OFPGC_ADD, ofproto.OFPGC_MODIFY)


class FakeSwitch:
    """One connection of a switch that knows no bundles: records what it is sent, and answers when it is told to."""

    ofproto = ofproto
    ofproto_parser = PARSER

    def __init__(self, application: KuijiaController, datapath_id: int) -> None:
        self._application = application
        self._datapath_id = datapath_id
        self._answered = 0
        self.id: int | None = None
        self.sent: list[Any] = []
        self.ports = dict.fromkeys(range(1, 5), True)
        self.ports_in_a_part = 4
        self.refuses: type | None = None
        self.is_closed = threading.Event()
        self.address = ("127.0.0.1", 1)

    def send_msg(self, message: object) -> None:
        self.sent.append(message)

    def close(self) -> None:
        self.is_closed.set()

    def connect(self) -> None:
        """Report the features, and only then let the framework note the datapath id, as os-ken's threads may do."""
        self._application.switch_connected(self._event(datapath_id=self._datapath_id))
        self.id = self._datapath_id

    def answer(self, at_most: int = 1000) -> None:
        """Answer what it was sent, also what is sent meanwhile."""
        end = self._answered + at_most
        while self._answered < min(len(self.sent), end):
            assert self._answered < 1000, "it is sent messages without end"
            message = self.sent[self._answered]
            self._answered += 1
            if isinstance(message, PARSER.OFPBarrierRequest):
                self._application.barrier_replied(self._event(xid=message.xid))
            elif isinstance(message, PARSER.OFPPortDescStatsRequest):
                self._describe_ports()
            elif isinstance(message, PARSER.ONFBundleCtrlMsg):
                self.refuse(message, ofproto.OFPET_BAD_REQUEST, ofproto.OFPBRC_BAD_EXPERIMENTER)
            elif self.refuses is not None and isinstance(message, self.refuses):
                self.refuse(message, ofproto.OFPET_GROUP_MOD_FAILED, ofproto.OFPGMFC_OUT_OF_GROUPS)

    def refuse(self, message: Any, error_type: int, code: int) -> None:  # noqa: ANN401
        self._application.switch_answered_with_an_error(self._event(xid=message.xid, type=error_type, code=code))

    def port_goes(self, port: int, *, live: bool) -> None:
        description = SimpleNamespace(port_no=port, config=0, state=0 if live else ofproto.OFPPS_LINK_DOWN)
        self._application.port_status(self._event(desc=description, reason=ofproto.OFPPR_MODIFY))

    def changes(self) -> list[Any]:
        """The messages that change its tables."""
        return [message for message in self.sent if isinstance(message, PARSER.OFPFlowMod | PARSER.OFPGroupMod)]

    def emptied_groups(self) -> list[int]:
        return [
            message.group_id
            for message in self.sent
            if isinstance(message, PARSER.OFPGroupMod) and not message.buckets and message.command in EMPTYING
        ]

    def _describe_ports(self) -> None:
        numbers = list(self.ports)
        for start in range(0, len(numbers), self.ports_in_a_part):
            body = [
                SimpleNamespace(port_no=number, config=0, state=0 if self.ports[number] else ofproto.OFPPS_LINK_DOWN)
                for number in numbers[start : start + self.ports_in_a_part]
            ]
            more = start + self.ports_in_a_part < len(numbers)
            flags = ofproto.OFPMPF_REPLY_MORE if more else 0
            self._application.ports_described(self._event(body=body, flags=flags))

    def _event(self, **details: object) -> SimpleNamespace:
        return SimpleNamespace(msg=SimpleNamespace(datapath=self, **details))


@pytest.fixture
def application(tmp_path: Path) -> Iterator[KuijiaController]:
    with application_of(motivation_plan(), tmp_path) as made:
        yield made


@contextmanager
def application_of(plan: Plan, tmp_path: Path) -> Iterator[KuijiaController]:
    save_plan(plan, tmp_path / "plan.json")
    cfg.CONF([], project="kuijia", default_config_files=[])
    cfg.CONF.set_override("plan", str(tmp_path / "plan.json"), group=OPTION_GROUP)
    cfg.CONF.set_override("events", str(tmp_path / "events.jsonl"), group=OPTION_GROUP)
    made = KuijiaController()
    made._chores = Chores(lambda: 0.0, lambda: None)  # no slice is ever over: nobody sends ticks
    yield made
    cfg.CONF.reset()
    for option in ("plan", "events"):
        cfg.CONF.clear_override(option, group=OPTION_GROUP)


def events(tmp_path: Path, *kinds: str) -> list[dict[str, Any]]:
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] in kinds]


def connected(application: KuijiaController, datapath_id: int) -> FakeSwitch:
    switch = FakeSwitch(application, datapath_id)
    switch.connect()
    switch.answer()
    return switch


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
    assert len(barriers) == len(set(barriers)) == 3
    ids = [message.xid for message in switch.sent if not isinstance(message, PARSER.ONFBundleCtrlMsg)]
    assert len(ids) == len(set(ids))


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
    assert named == [("s2", "OFPET_GROUP_MOD_FAILED/OFPGMFC_OUT_OF_GROUPS")]
    assert events(tmp_path, event_log.SWITCH_READY) == []
    assert len(events(tmp_path, event_log.SWITCH_REFUSED)) == 1


def test_tunnels_avoid_a_switch_that_refuses_its_tables(application: KuijiaController) -> None:
    ingress = connected(application, S1)
    switch = FakeSwitch(application, S2)
    switch.refuses = PARSER.OFPFlowMod
    switch.connect()
    switch.answer()
    switch.port_goes(1, live=True)
    assert ingress.emptied_groups() == [liveness_group(T1)]


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
    assert [message.role for message in claims] == [ofproto.OFPCR_ROLE_MASTER] * 2
    assert len({message.generation_id for message in claims}) == 1


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


def test_a_flapping_port_is_held_down(application: KuijiaController, tmp_path: Path) -> None:
    ingress, switch = connected(application, S1), connected(application, S2)
    for _ in range(10):
        switch.port_goes(2, live=False)
        switch.port_goes(2, live=True)
        ingress.answer()
    assert [event["port"] for event in events(tmp_path, event_log.PORT_DAMPED)] == [2]
    told = events(tmp_path, event_log.TUNNEL_LIVENESS)
    assert not told[-1]["alive"]
    assert len(told) == 7


def test_a_first_link_that_is_down_at_its_far_end_alone_is_told_to_the_ingress_and_healed(
    application: KuijiaController, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(100, 200))
    ingress, switch = connected(application, S1), connected(application, S2)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    switch.port_goes(1, live=False)
    application.time_passed(Tick(None))
    assert ingress.emptied_groups() == []
    application.time_passed(Tick(None))
    assert ingress.emptied_groups() == [liveness_group(T1)]
    before = len(ingress.changes())
    switch.port_goes(1, live=True)
    ingress.answer()
    application.time_passed(Tick(None))
    (healed,) = ingress.changes()[before:]
    assert healed.group_id == liveness_group(T1)
    assert len(healed.buckets) == 1


def test_that_a_plan_is_given_up_is_told_when_the_plan_file_holds_the_one_before(
    application: KuijiaController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.json"
    held: dict[str, Plan] = {}
    monkeypatch.setattr(application._log, "write", lambda event, **_: held.update({event: load_plan(path)}))
    save_plan(plan_of(both_ways("other", "a b", "a-b"), "a-b"), path)
    application._source.ask()
    application.time_passed(Tick(application._source.read_if_asked(application._rollout)))
    for then in application._filed():
        application.time_passed(Tick(then=then))
    assert held[event_log.UPDATE_REFUSED] == motivation_plan()


def test_between_slices_of_a_large_programming_events_have_their_turn(
    application: KuijiaController, tmp_path: Path
) -> None:
    looks = count()
    application._chores = Chores(lambda: next(looks) * SLICE, lambda: None)
    other = connected(application, S2)
    switch = connected(application, S1)
    wanted = application._rollout.wanted("s1")
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


def test_no_switch_is_taken_to_have_tables_that_it_has_not_been_compared_with(application: KuijiaController) -> None:
    switch = connected(application, S1)
    connection = application._connections["s1"]
    looks = count()
    application._chores = Chores(lambda: next(looks) * SLICE, lambda: None)
    connection._later = application._chores.add
    before = application._rollout.wanted("s1")
    wanted = SwitchTables(before.groups, before.flows[:-1])
    done: list[SwitchTables] = []
    connection._reports = replace(connection._reports, done=lambda: done.append(wanted))
    with application._chores.gathered():
        connection.want(before)
        connection.want(wanted)
    switch.answer()
    while not done:
        application.time_passed(Tick())
        switch.answer()
    assert switch.changes()[-1].command == ofproto.OFPFC_DELETE_STRICT


def test_switches_of_other_networks_without_end_are_summed_up(application: KuijiaController, tmp_path: Path) -> None:
    for datapath_id in range(10**6, 10**6 + 2000):
        connected(application, datapath_id)
    told = events(tmp_path, event_log.SWITCH_UNKNOWN)
    assert len(told) == MOST_STRANGERS_NAMED + 1
    assert [event["datapath_id"] for event in told] == list(range(10**6, 10**6 + MOST_STRANGERS_NAMED + 1))


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
    monkeypatch.setattr(time, "monotonic", lambda: now)
    attempts = 30
    for _ in range(attempts):
        switch = FakeSwitch(application, S1)
        switch.connect()
        begun = now
        while not application._connections["s1"].is_given_up:
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
    assert application._damping._ports == {}
    assert application._live_ports["s2"].keys() == {1, 2, 3, 4}
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
    assert "s2" not in application._connections


def test_a_switch_that_refuses_again_and_again_fills_no_log(application: KuijiaController, tmp_path: Path) -> None:
    switch = connected(application, S1)
    refused = switch.changes()[0]
    for _ in range(200):
        switch.refuse(refused, ofproto.OFPET_BAD_REQUEST, ofproto.OFPBRC_EPERM)
        switch.answer()
        switch.sent.clear()
        switch._answered = 0
    assert len(events(tmp_path, event_log.SWITCH_ERROR)) == 1
