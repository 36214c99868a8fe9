"""What somebody else has changed in a switch is told, and what we change ourselves is not."""

from __future__ import annotations

from dataclasses import replace

from kuijia_app.control.reconciliation import FlowKey, KnownTables
from kuijia_app.control.snapshot import Snapshot
from kuijia_app.control.table_differences import TableDifferences, differences
from kuijia_app.tables.identifiers import is_own_group, liveness_group
from kuijia_app.tables.rules import FlowEntry, Group, GroupType, Match, Output, SwitchTables

GROUP = Group(liveness_group(16), GroupType.FAST_FAILOVER, ())
ENTRY = FlowEntry(100, Match(in_port=1), (Output(2),))
KEY = FlowKey.of(ENTRY)
PRESENT = KnownTables.of(SwitchTables((GROUP,), (ENTRY,)))
SAME = Snapshot("s1", 0.0, 0.0, {KEY: ENTRY}, {KEY: 0}, {GROUP.group_id: GROUP}, {}, {}, None)


def found(snapshot: Snapshot, *left_out: int | FlowKey) -> TableDifferences:
    return differences(is_own_group, PRESENT, snapshot, left_out)


def test_nothing_differs_from_what_is_there() -> None:
    assert not found(SAME)


def test_what_is_missing_changed_or_added_is_told_with_the_first_of_it() -> None:
    assert str(found(replace(SAME, entries={}))) == "1 flow entry missing (first: table=0,priority=100,in_port=1)"
    other = replace(GROUP, group_type=GroupType.SELECT)
    changed = replace(SAME, groups={GROUP.group_id: other, GROUP.group_id + 1: GROUP})
    assert str(found(changed)) == f"1 group changed, 1 group added (first: group {GROUP.group_id:#x})"
    assert found(replace(SAME, entries={KEY: None})).entries.changed == (KEY,)


def test_groups_of_others_differ_in_nothing() -> None:
    assert not found(replace(SAME, groups={**SAME.groups, 7: None}))


def test_what_is_being_changed_or_cannot_be_named_is_left_out() -> None:
    assert not found(replace(SAME, groups={}, entries={}), GROUP.group_id, KEY)
    assert found(replace(SAME, groups={}, entries={}), GROUP.group_id).entries.missing == (KEY,)
