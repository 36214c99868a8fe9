"""A switch gets no more messages than its acknowledgements allow, one phase after the other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.control.reconciliation import AddGroup, DeleteFlow, FlowKey, KnownTables, ModifyGroup, PutFlow
from kuijia_app.control.sender import Batch, Sender
from kuijia_app.tables.rules import Bucket, FlowEntry, Group, GroupType, Match, Output, SwitchTables, ToGroup
from tests.kuijia_app.switch_tables import tables

GROUPS = tuple(Group(number, GroupType.FAST_FAILOVER, (Bucket((Output(1),)),)) for number in range(1, 6))
ENTRIES = tuple(FlowEntry(1, Match(in_port=number), (ToGroup(number),)) for number in range(1, 6))
WANTED = SwitchTables(GROUPS, ENTRIES)
EMPTIED = Group(2, GroupType.FAST_FAILOVER, ())


def sent(sender: Sender) -> list[Batch]:
    batches = []
    while (batch := sender.next_batch()) is not None:
        batches.append(batch)
    return batches


def test_no_more_than_two_batches_wait_for_an_answer_and_flows_wait_for_their_groups() -> None:
    sender = Sender(KnownTables(), batch=2, in_flight=2)
    sender.want(WANTED)
    first, second = sent(sender)
    assert (len(first.changes), len(second.changes)) == (2, 2)
    sender.acknowledged(first.number)
    (third,) = sent(sender)
    assert third.changes == (AddGroup(GROUPS[4]),)
    sender.acknowledged(second.number)
    assert sent(sender) == []
    sender.acknowledged(third.number)
    assert all(isinstance(change, PutFlow) for batch in sent(sender) for change in batch.changes)
    assert not sender.is_done


def test_one_step_takes_everything_once_nothing_is_in_flight() -> None:
    sender = Sender(KnownTables())
    sender.want(WANTED)
    batch = sender.all_at_once()
    assert batch is not None
    assert len(batch.changes) == len(GROUPS) + len(ENTRIES)
    assert sender.all_at_once() is None
    assert not sender.is_done
    sender.acknowledged(batch.number)
    assert sender.is_done


def test_an_urgent_group_goes_before_the_rest() -> None:
    sender = Sender(KnownTables.of(SwitchTables(GROUPS, ())), batch=2)
    sender.want(WANTED)
    sender.want_instead(2, EMPTIED)
    (batch,) = sent(sender)
    assert batch.changes == (ModifyGroup(EMPTIED),)


def test_of_urgent_groups_those_with_buckets_go_before_those_that_are_emptied_and_the_rest_last() -> None:
    one, two, three = GROUPS[1], Group(3, GroupType.FAST_FAILOVER, ()), Group(4, GroupType.FAST_FAILOVER, ())
    sender = Sender(KnownTables.of(SwitchTables((GROUPS[0], EMPTIED, *GROUPS[2:]), ())))
    sender.want(SwitchTables((replace(GROUPS[0], buckets=()), EMPTIED, *GROUPS[2:]), ()))
    for group in (two, one, three):
        sender.want_instead(group.group_id, group)
    (batch,) = sent(sender)
    assert batch.changes[0] == ModifyGroup(one)
    assert set(batch.changes[1:3]) == {ModifyGroup(two), ModifyGroup(three)}
    assert batch.changes[3:] == (ModifyGroup(replace(GROUPS[0], buckets=())),)


def test_a_group_that_is_not_there_yet_is_added_as_it_is_wanted_instead() -> None:
    sender = Sender(KnownTables())
    sender.want(SwitchTables(GROUPS, ()))
    sender.want_instead(2, EMPTIED)
    (batch,) = sent(sender)
    assert AddGroup(EMPTIED) in batch.changes
    assert AddGroup(GROUPS[1]) not in batch.changes


def test_what_is_wanted_instead_outlives_new_tables_and_can_be_taken_back() -> None:
    sender = Sender(KnownTables.of(WANTED))
    sender.want_instead(2, EMPTIED)
    sender.want(SwitchTables(GROUPS, ENTRIES[:4]))
    first = sent(sender)
    assert first[0].changes == (ModifyGroup(EMPTIED),)
    sender.want_instead(2, None)
    sender.acknowledged(first[0].number)
    assert sent(sender)[0].changes == (ModifyGroup(GROUPS[1]),)


def test_an_urgent_group_does_not_wait_for_a_large_step_that_leaves_it_alone() -> None:
    sender = Sender(KnownTables.of(SwitchTables(GROUPS, ())))
    sender.want(WANTED)
    step = sender.all_at_once()
    assert step is not None
    sender.want_instead(2, EMPTIED)
    assert sender.next_batch() is None
    batch = sender.urgent_batch()
    assert batch is not None
    assert batch.changes == (ModifyGroup(EMPTIED),)
    assert sender.urgent_batch() is None
    sender.acknowledged(step.number)
    assert not sender.is_done
    sender.acknowledged(batch.number)
    assert sender.is_done


def test_an_urgent_group_waits_for_a_step_that_changes_it_too() -> None:
    sender = Sender(KnownTables())
    sender.want(WANTED)
    step = sender.all_at_once()
    assert step is not None
    sender.want_instead(2, EMPTIED)
    assert sender.urgent_batch() is None
    sender.acknowledged(step.number)
    batch = sender.urgent_batch()
    assert batch is not None
    assert batch.changes == (ModifyGroup(EMPTIED),)


def test_a_group_that_nobody_wants_cannot_be_wanted_instead() -> None:
    sender = Sender(KnownTables())
    sender.want(SwitchTables((), ()))
    sender.want_instead(2, EMPTIED)
    assert sender.is_done


ADDED = Group(6, GroupType.FAST_FAILOVER, (Bucket((Output(1),)),))
LEADS_ON = replace(GROUPS[1], buckets=(Bucket((ToGroup(ADDED.group_id),), watch_group=ADDED.group_id),))


def test_a_group_that_uses_one_of_tables_to_come_waits_for_these() -> None:
    sender = Sender(KnownTables.of(WANTED))
    sender.want(WANTED)
    sender.want_instead(LEADS_ON.group_id, LEADS_ON)
    assert sender.urgent_batch() is sender.next_batch() is None
    sender.want(SwitchTables((ADDED, *GROUPS), ENTRIES))
    batch = sender.all_at_once()
    assert batch is not None
    assert batch.changes == (AddGroup(ADDED), ModifyGroup(LEADS_ON))


def test_a_group_comes_after_one_that_it_uses_and_that_is_still_to_be_added() -> None:
    sender = Sender(KnownTables.of(WANTED))
    sender.want(SwitchTables((ADDED, *GROUPS), ()))
    sender.want_instead(LEADS_ON.group_id, LEADS_ON)
    sender.want_instead(EMPTIED.group_id + 1, replace(EMPTIED, group_id=EMPTIED.group_id + 1))
    urgent = sender.urgent_batch()
    assert urgent is not None
    assert [change.group for change in urgent.changes if isinstance(change, ModifyGroup)] == [
        replace(EMPTIED, group_id=3)
    ]
    sender.acknowledged(urgent.number)
    batch = sender.all_at_once()
    assert batch is not None
    assert batch.changes[:2] == (AddGroup(ADDED), ModifyGroup(LEADS_ON))
    assert all(isinstance(change, DeleteFlow) for change in batch.changes[2:])


@pytest.mark.slow
@given(old=tables(), steps=st.lists(st.one_of(tables(), st.just("acknowledge")), max_size=6), last=tables())
def test_whatever_is_wanted_meanwhile_the_switch_ends_with_what_was_wanted_last(
    old: SwitchTables, steps: list[SwitchTables | str], last: SwitchTables
) -> None:
    switch = KnownTables.of(old)
    sender = Sender(KnownTables.of(old), batch=2)
    waiting: list[int] = []

    def send() -> None:
        for batch in sent(sender):
            assert len({type(change) for change in batch.changes}) == 1
            waiting.append(batch.number)
            for change in batch.changes:
                switch.apply(change)
        assert len(waiting) <= 2

    for step in [*steps, last]:
        if isinstance(step, SwitchTables):
            sender.want(step)
        elif waiting:
            sender.acknowledged(waiting.pop(0))
        send()
    while waiting:
        sender.acknowledged(waiting.pop(0))
        send()
    assert sender.is_done
    assert switch == KnownTables.of(last)


EXTRA = FlowEntry(9, Match(in_port=9), (Output(1),))
KEY = FlowKey.of(EXTRA)


def test_entries_besides_the_tables_are_sent_before_the_rest_and_stay_when_others_are_wanted() -> None:
    sender = Sender(KnownTables(), batch=2, in_flight=2)
    sender.want(WANTED)
    first, _ = sent(sender)
    sender.want_besides({KEY: EXTRA})
    urgent = sender.urgent_batch()
    assert urgent is not None
    assert urgent.changes == (PutFlow(EXTRA),)
    assert not sender.is_settled(KEY)
    sender.acknowledged(urgent.number)
    assert sender.is_settled(KEY)
    sender.want(SwitchTables(GROUPS, ENTRIES[:4]))
    assert sender.urgent_batch() is None
    assert sender.present.flows[KEY] == EXTRA
    sender.acknowledged(first.number)


def test_an_entry_besides_the_tables_that_was_not_sent_yet_stays_urgent_when_others_are_wanted() -> None:
    sender = Sender(KnownTables())
    sender.want_besides({KEY: EXTRA})
    sender.want(WANTED)
    urgent = sender.urgent_batch()
    assert urgent is not None
    assert urgent.changes == (PutFlow(EXTRA),)


def test_an_entry_besides_the_tables_that_is_not_wanted_any_more_is_deleted() -> None:
    sender = Sender(KnownTables.of(SwitchTables(GROUPS, (*ENTRIES, EXTRA))))
    sender.want_besides({KEY: EXTRA})
    sender.want(WANTED)
    assert sender.left == 0
    sender.want_besides({})
    assert not sender.is_done
    urgent = sender.urgent_batch()
    assert urgent is not None
    assert urgent.changes == (DeleteFlow(KEY),)


def test_an_entry_of_the_tables_goes_before_one_besides_them() -> None:
    ours = FlowEntry(ENTRIES[0].priority, ENTRIES[0].match, (Output(7),))
    sender = Sender(KnownTables.of(WANTED))
    sender.want(WANTED)
    sender.want_besides({FlowKey.of(ours): ours})
    assert sender.urgent_batch() is None
    assert sender.is_done


def test_a_second_change_of_an_entry_waits_for_the_answer_to_the_first() -> None:
    sender = Sender(KnownTables())
    sender.want(SwitchTables((), ()))
    sender.want_besides({KEY: EXTRA})
    first = sender.urgent_batch()
    assert first is not None
    sender.want_besides({})
    assert sender.urgent_batch() is None
    sender.acknowledged(first.number)
    second = sender.urgent_batch()
    assert second is not None
    assert second.changes == (DeleteFlow(KEY),)


def test_an_entry_that_was_urgent_gives_way_to_one_of_the_tables_that_are_wanted_next() -> None:
    ours = FlowEntry(EXTRA.priority, EXTRA.match, (Output(7),))
    sender = Sender(KnownTables())
    sender.want(SwitchTables((), ()))
    sender.want_besides({KEY: EXTRA})
    sender.want(SwitchTables((), (ours,)))
    assert sender.urgent_batch() is None
    (batch,) = sent(sender)
    assert batch.changes == (PutFlow(ours),)


def test_no_more_urgent_batches_wait_for_an_answer_than_others() -> None:
    sender = Sender(KnownTables.of(SwitchTables(GROUPS, ())), in_flight=1)
    sender.want(SwitchTables(GROUPS, ()))
    assert sender.urgent_batch() is None
    sender.want_instead(2, EMPTIED)
    first = sender.urgent_batch()
    assert first is not None
    sender.want_instead(3, replace(EMPTIED, group_id=3))
    assert sender.urgent_batch() is None
    sender.acknowledged(first.number)
    second = sender.urgent_batch()
    assert second is not None
    assert second.changes == (ModifyGroup(replace(EMPTIED, group_id=3)),)
