"""What a controller says of tables that somebody else has changed, and of entries of others."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.sliced_work import SlicedWork
from kuijia_app.control.snapshot import ForeignEntry, Snapshot
from kuijia_app.control.table_differences import Differing, TableDifferences
from kuijia_app.controller import KuijiaController
from kuijia_app.framework import event_log
from kuijia_app.tables.rules import FlowEntry, Match, Output, SwitchTables
from tests.kuijia_app.control.fake_switch import PARSER, S1, connected, events

TRIES = 5
ENTRY = FlowEntry(300, Match(in_port=1), (Output(2),))
OWN = FlowKey.of(ENTRY)
THEIRS = ForeignEntry(5, FlowKey(0, 400, Match(in_port=1)))


def test_changed_tables_are_reported_without_a_number_of_times_unless_that_is_more_than_one(
    application: KuijiaController, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    logger = SimpleNamespace(warning=lambda words, *its: lines.append(words % its), info=lambda *_: None)
    monkeypatch.setattr(application._runtime, "logger", logger)
    connected(application, S1)
    snapshot = Snapshot("s1", 0.0, 0.0, {}, {}, {}, {}, {}, None, ())
    application.switches.tables_wrong(
        snapshot, TableDifferences(entries=Differing(missing=(OWN,))), application._runtime.now()
    )
    (line,) = lines
    assert "somebody has changed its tables, put right: 1 flow entry missing" in line


def test_entries_of_others_that_were_looked_for_while_a_peer_took_over_are_not_named(
    application: KuijiaController,
) -> None:
    now = count()
    connected(application, S1)
    application._runtime.sliced_work = SlicedWork(lambda: float(next(now)), lambda: None)
    application._runtime.sliced_work.add(iter([None, None]))  # so that the search has to wait
    snapshot = Snapshot("s1", 0.0, 0.0, {OWN: ENTRY}, {}, {}, {}, {}, None, (THEIRS,))
    application.switches._look_at_foreign((THEIRS,), snapshot)
    application.roles._give_up_acting("a peer acts")
    for _ in range(20):
        application._runtime.sliced_work.work()
    assert list(application.switches.findings) == []


def test_entries_of_others_are_named_again_by_a_controller_that_acts_again(application: KuijiaController) -> None:
    connected(application, S1)
    snapshot = Snapshot("s1", 0.0, 0.0, {OWN: ENTRY}, {}, {}, {}, {}, None, (THEIRS,))
    for _ in range(2):
        application.switches._look_at_foreign((THEIRS,), snapshot)
        (named,) = application.switches.findings
        assert named.key.detail == "table=0,priority=400,in_port=1"
        application.roles._give_up_acting("a peer acts")


def test_a_switch_that_was_read_during_a_poll_need_not_be_waited_for(
    application: KuijiaController, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = connected(application, S1)
    now = application._runtime.now()
    monkeypatch.setattr(application._runtime, "now", lambda: now)
    application.switches.table_watch.asked("s1", now)
    application.switches.connections["s1"].read_again()
    switch.answer()
    assert [each for each, _ in application.switches.table_watch.due(now)] == ["s1"]


def test_an_entry_of_others_is_named_as_long_as_what_is_avoided_for_it_would_need_other_entries(
    application: KuijiaController,
) -> None:
    connected(application, S1)
    application.switches.unhindered = {"s1": SwitchTables((), (ENTRY,))}
    snapshot = Snapshot("s1", 0.0, 0.0, {}, {}, {}, {}, {}, None, (THEIRS,))
    application.switches._look_at_foreign((THEIRS,), snapshot)
    assert [named.key.detail for named in application.switches.findings] == ["table=0,priority=400,in_port=1"]
    application.switches._look_at_foreign((), snapshot)
    assert list(application.switches.findings) == []


def test_tables_that_somebody_keeps_changing_are_put_right_a_few_times_and_then_left(
    application: KuijiaController, tmp_path: Path
) -> None:
    switch, found = connected(application, S1), TableDifferences(entries=Differing(missing=(OWN,)))
    snapshot = Snapshot("s1", 0.0, 0.0, {OWN: ENTRY}, {}, {}, {}, {}, None, ())
    readings = []
    for _ in range(8):
        before = sum(isinstance(each, PARSER.OFPGroupDescStatsRequest) for each in switch.sent)
        application.switches.tables_wrong(snapshot, found, 0.0)
        assert application.switches.wrong_tables == {"s1"}
        readings.append(sum(isinstance(each, PARSER.OFPGroupDescStatsRequest) for each in switch.sent) - before)
        is_left = "s1" in application._control._left_alone
        switch.answer()
        if is_left:
            break
    told = [event["put_right"] for event in events(tmp_path, event_log.TABLES_WRONG)]
    assert told == [True] * TRIES + [False]
    assert readings == [1] * (TRIES + 1), "it is read to be put right, and to avoid its ports"
    assert not switch.is_closed.is_set()
    sent = len(switch.sent)
    application.switches.tables_wrong(snapshot, found, 0.0)
    assert len(switch.sent) == sent
    assert len(events(tmp_path, event_log.TABLES_WRONG)) == len(told)
