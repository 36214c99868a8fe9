"""Changes lead a switch from any tables to any others, and never leave an entry without its group."""

from __future__ import annotations

import pytest
from hypothesis import given

from kuijia_app.control.reconciliation import (
    AddGroup,
    DeleteFlow,
    DeleteGroup,
    FlowKey,
    IndexedTables,
    KnownTables,
    ModifyGroup,
    PutFlow,
    difference,
)
from kuijia_app.tables.identifiers import CLASSIFIER_TABLE, DROP_GROUP, HOST_TABLE
from kuijia_app.tables.rules import Action, Bucket, FlowEntry, Group, GroupType, Match, Output, SwitchTables, ToGroup
from tests.kuijia_app.switch_tables import tables

GROUP = Group(1, GroupType.FAST_FAILOVER, (Bucket((Output(2),)),))
OTHER = Group(1, GroupType.FAST_FAILOVER, (Bucket((Output(3),)),))
USER = Group(2, GroupType.SELECT, (Bucket((ToGroup(1),)),))
ENTRY = FlowEntry(5, Match(in_port=1), (ToGroup(2),))


def uses(group: Group) -> set[int]:
    actions = {action.group_id for bucket in group.buckets for action in bucket.actions if isinstance(action, ToGroup)}
    return actions | {bucket.watch_group for bucket in group.buckets if bucket.watch_group is not None}


def test_an_empty_switch_gets_groups_in_order_and_then_entries() -> None:
    changes = difference(KnownTables(), SwitchTables((GROUP, USER), (ENTRY,)))
    assert changes == [AddGroup(GROUP), AddGroup(USER), PutFlow(ENTRY)]


def test_entries_that_forward_or_drop_are_transit_but_those_into_tunnels_or_classification_are_not() -> None:
    forwards, into_tunnel, drops = Output(2), ToGroup(2), ToGroup(DROP_GROUP)
    leads: list[tuple[tuple[Action, ...], int | None]] = [
        ((forwards,), None),
        ((forwards,), HOST_TABLE),
        ((), None),
        ((drops,), None),
    ]
    others: list[tuple[tuple[Action, ...], int | None]] = [
        ((into_tunnel,), None),
        ((drops, into_tunnel), None),
        ((forwards,), CLASSIFIER_TABLE),
    ]
    entries = [
        FlowEntry(5, Match(in_port=port), actions, goto_table=table)
        for port, (actions, table) in enumerate([*leads, *others])
    ]
    written = FlowEntry(5, Match(in_port=9), written=(into_tunnel,))
    indexed = IndexedTables((), (*entries, written))
    assert list(indexed.transit.values()) == entries[: len(leads)]


def test_a_switch_that_has_everything_gets_nothing() -> None:
    wanted = SwitchTables((GROUP, USER), (ENTRY,))
    assert difference(KnownTables.of(wanted), wanted) == []


def test_one_changed_group_is_one_modify() -> None:
    present = KnownTables.of(SwitchTables((GROUP, USER), (ENTRY,)))
    assert difference(present, SwitchTables((OTHER, USER), (ENTRY,))) == [ModifyGroup(OTHER)]


def test_changes_are_applied_without_making_the_keys_of_entries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = SwitchTables((GROUP, USER), (ENTRY,))
    present = KnownTables()
    changes = difference(present, wanted)
    monkeypatch.setattr(FlowKey, "of", None)
    for change in changes:
        present.apply(change)
    assert list(present.flows.values()) == [ENTRY]


def test_what_is_wanted_no_more_goes_last_and_users_before_what_they_use() -> None:
    present = KnownTables.of(SwitchTables((GROUP, USER), (ENTRY,)))
    new = FlowEntry(5, Match(in_port=2), (Output(1),))
    assert difference(present, SwitchTables((), (new,))) == [
        PutFlow(new),
        DeleteFlow(FlowKey.of(ENTRY)),
        DeleteGroup(2),
        DeleteGroup(1),
    ]


def test_what_is_none_of_our_rules_is_replaced_or_deleted() -> None:
    odd = FlowKey(0, 7, (("vlan_vid", 5),))
    present = KnownTables({1: None, 9: None}, {FlowKey.of(ENTRY): None, odd: None})
    assert difference(present, SwitchTables((GROUP,), (ENTRY,))) == [
        ModifyGroup(GROUP),
        PutFlow(ENTRY),
        DeleteFlow(odd),
        DeleteGroup(9),
    ]


@given(old=tables(), new=tables())
def test_the_changes_lead_there_and_no_entry_ever_uses_a_group_that_is_missing(
    old: SwitchTables, new: SwitchTables
) -> None:
    present = KnownTables.of(old)
    for change in difference(present.copy(), new):
        present.apply(change)
        used = {
            action.group_id
            for entry in present.flows.values()
            if entry is not None
            for action in entry.actions
            if isinstance(action, ToGroup)
        }
        assert used <= present.groups.keys()
    assert present == KnownTables.of(new)
    assert difference(present, new) == []


@pytest.mark.slow
@given(old=tables(), new=tables())
def test_a_group_is_added_after_those_it_uses_and_deleted_before_them(old: SwitchTables, new: SwitchTables) -> None:
    present = KnownTables.of(old)
    has = {group.group_id: group for group in old.groups}
    for change in difference(present, new):
        if isinstance(change, AddGroup):
            assert uses(change.group) <= has.keys()
            has[change.group.group_id] = change.group
        elif isinstance(change, DeleteGroup):
            del has[change.group_id]
            assert all(change.group_id not in uses(group) for group in has.values())
        elif isinstance(change, ModifyGroup):
            has[change.group.group_id] = change.group


@pytest.mark.parametrize(("watcher", "watched"), [(1, 2), (2, 1)])
def test_a_group_that_only_watches_another_is_deleted_before_it(watcher: int, watched: int) -> None:
    groups = {
        watched: Group(watched, GroupType.FAST_FAILOVER, (Bucket((Output(1),), watch_port=1),)),
        watcher: Group(watcher, GroupType.FAST_FAILOVER, (Bucket((Output(2),), watch_group=watched),)),
    }
    present = KnownTables.of(SwitchTables((groups[1], groups[2]), ()))
    assert difference(present, SwitchTables((), ())) == [DeleteGroup(watcher), DeleteGroup(watched)]
