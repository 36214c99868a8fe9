"""What a switch answers the scheduler is not taken for more than it was asked, whatever has changed since."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from hedera.scheduler import HederaScheduler, SchedulerTick
from hedera.scheduling.elephant_schedule import Round
from hedera.scheduling.polling import FiveTuple
from kuijia_app.framework.seam import ofproto
from tests.hedera.test_multi_rooted import leaf_spine
from tests.kuijia_app.control.applications import scheduler_of
from tests.kuijia_app.control.fake_switch import PARSER, events
from tests.kuijia_app.control.model_switch import Box, ModelSwitch

LEAST_PATIENCE = 2.0
CEILING = 6.0

LEAF = "l0"


@pytest.fixture
def application(tmp_path: Path) -> Iterator[HederaScheduler]:
    with scheduler_of(leaf_spine(leaves=2, spines=2, hosts=1), tmp_path) as made:
        yield made


def switch_of(application: HederaScheduler, name: str = LEAF) -> ModelSwitch:
    wiring = application.switches.wiring
    ports = dict.fromkeys(wiring.ports(name), True)

    def fail(what: str) -> None:
        raise AssertionError(what)

    return ModelSwitch(application, Box(name, wiring.datapath_id(name), ports), fail)


def answer_until(switch: ModelSwitch, kind: type) -> None:
    """Have the switch answer up to its first message of a kind that waits."""
    while not isinstance(switch.sent[switch._answered], kind):
        switch.answer(1)


def failed(application: HederaScheduler) -> frozenset[frozenset[str]]:
    return application._links._told


def questions(switch: ModelSwitch) -> int:
    """Return how often the switch was asked for its counters."""
    return sum(isinstance(each, PARSER.OFPFlowStatsRequest) for each in switch.sent) - 1


def test_a_port_that_goes_down_while_the_switch_describes_its_tables_stays_down(application: HederaScheduler) -> None:
    switch = switch_of(application)
    switch.connect()
    answer_until(switch, PARSER.OFPGroupDescStatsRequest)
    switch.port_goes(1, live=False)
    switch.answer()
    assert failed(application) == {frozenset({LEAF, "s0"})}


def test_a_change_of_one_port_before_the_switch_has_described_them_says_nothing_of_the_others(
    application: HederaScheduler,
) -> None:
    switch = switch_of(application)
    switch.connect()
    answer_until(switch, PARSER.OFPGroupDescStatsRequest)
    switch.port_goes(1, live=True)
    assert failed(application) == frozenset()


def test_a_port_that_was_held_down_and_is_down_at_a_new_connection_does_not_come_up_by_itself(
    application: HederaScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(application._runtime, "now", lambda: now)
    switch = switch_of(application)
    switch.connect()
    switch.answer()
    for _ in range(int(CEILING)):
        switch.port_goes(1, live=False)
        switch.port_goes(1, live=True)
    assert application.switches.damping.is_held((LEAF, 1))
    application.switch_disconnected(SimpleNamespace(datapath=switch))
    back = switch_of(application)
    back.ports[1] = False
    back.connect()
    back.answer()
    now += 60.0
    application.time_passed(SchedulerTick())
    assert not application._links._live[LEAF][1]


def test_a_switch_whose_groups_somebody_deletes_while_it_is_programmed_is_used_once_it_is_put_right(
    application: HederaScheduler,
) -> None:
    switch = switch_of(application)
    switch.box.knows_bundles = False
    refusals: list[str] = []
    switch._refused = refusals.append
    switch.connect()
    answer_until(switch, PARSER.OFPFlowMod)
    switch.box.groups.clear()
    switch.answer()
    assert refusals
    assert switch.box.differs_from(application._tables[LEAF]) == ""
    application.time_passed(SchedulerTick())
    assert failed(application) == frozenset()


def test_a_connection_that_replaces_another_is_asked_for_its_counters_at_once(
    application: HederaScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(application._runtime, "now", lambda: now)
    switch = switch_of(application)
    switch.connect()
    switch.answer()
    application._poll(now)
    assert questions(switch) == 1
    back = switch_of(application)
    back.connect()
    back.answer()
    now += LEAST_PATIENCE / 10
    application._poll(now)
    assert questions(back) == 1


def test_a_connection_that_is_about_to_be_closed_is_sent_nothing(
    application: HederaScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application._runtime, "close", lambda datapath: datapath.close())
    switch = switch_of(application)
    switch.connect()
    switch.answer()
    application._drop(switch, "it is to go")
    before = len(switch.sent)
    application._poll(time.monotonic())
    assert len(switch.sent) == before


def test_counters_are_asked_for_once_a_period_and_a_pause_is_not_made_up_for(
    application: HederaScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    period = application._options.period
    began = now = application._next_poll = 1000 * period
    monkeypatch.setattr(application._runtime, "now", lambda: now)
    polled: list[float] = []
    monkeypatch.setattr(application, "_poll", polled.append)
    for periods in (0, 0.75, 1, 1.75, 2, 10, 10.25, 10.5, 10.75, 11):
        now = began + periods * period
        application.time_passed(SchedulerTick())
    assert [each / period - 1000 for each in polled] == [0, 1, 2, 10, 10.25, 11]


@pytest.mark.parametrize("left_to", ["left_to_other", "left_to_peer"])
def test_a_switch_with_another_master_is_not_asked_for_counters(application: HederaScheduler, left_to: str) -> None:
    switch = switch_of(application)
    switch.connect()
    switch.answer()
    getattr(application, left_to)(LEAF)
    application._poll(time.monotonic())
    assert questions(switch) == 0
    assert LEAF not in application._polls.silent


def test_a_message_of_its_own_that_a_switch_refuses_is_an_event(application: HederaScheduler, tmp_path: Path) -> None:
    switch = switch_of(application)
    switch.connect()
    switch.answer()
    application._poll(time.monotonic())
    switch.refuse(switch.sent[-1], ofproto.OFPET_BAD_REQUEST, ofproto.OFPBRC_EPERM)
    refused = [(event["switch"], event["error"]) for event in events(tmp_path, "entry-refused")]
    assert refused == [(LEAF, "OFPET_BAD_REQUEST/OFPBRC_EPERM")]


def test_flows_are_placed_only_by_who_acts_and_once_all_connected_switches_have_their_tables(
    application: HederaScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed: list[Mapping[FiveTuple, float]] = []
    run = application._schedule.run

    def noted(rates: Mapping[FiveTuple, float]) -> Round:
        placed.append(rates)
        return run(rates)

    monkeypatch.setattr(application._schedule, "run", noted)
    switch = switch_of(application)
    switch.connect()
    answer_until(switch, PARSER.OFPPortDescStatsRequest)
    application._run_round()
    assert not placed
    switch.answer()
    placed.clear()
    application._run_round()
    assert len(placed) == 1
    application.roles.is_displaced = True
    application._run_round()
    application.roles.is_displaced = False
    monkeypatch.setattr(type(application.roles), "acts", False)
    application._run_round()
    assert len(placed) == 1
