"""Polls of a switch's tables and counters, in the bytes of OpenFlow 1.3, are read as parsers read them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.control import poll_bodies
from kuijia_app.control.openflow import Messages
from kuijia_app.control.reconciliation import AddGroup, FlowKey, KnownTables, PutFlow
from kuijia_app.control.snapshot import ForeignEntry, Poll, PortCounters, QueueCounters, Snapshot
from kuijia_app.control.table_polls import TablePolls
from kuijia_app.framework.switch_limits import SwitchFaultError
from kuijia_app.tables.identifiers import COOKIE
from kuijia_app.tables.rules import FlowEntry, Group, GroupType, Match, Output, SwitchTables, ToGroup
from tests.kuijia_app.control.test_openflow_reading import frameworks, library
from tests.kuijia_app.switch_tables import tables

MOST_FOREIGN = 500
OWN_COOKIE = 6

THEIRS = FlowEntry(400, Match(eth_type=0x0800), (ToGroup(7),))
OURS = FlowEntry(100, Match(in_port=1), (Output(2),))


def flow_bytes(package: str, entry: FlowEntry, packets: int = 0, cookie: int = COOKIE, duration: int = 0) -> bytes:
    """Return an entry as OpenFlow 1.3.5, 7.3.5.2, describes it."""
    message = Messages(library(package)).change(PutFlow(entry))
    rest = bytearray()
    message.match.serialize(rest, 0)
    for instruction in message.instructions:
        instruction.serialize(rest, len(rest))
    head = (48 + len(rest), entry.table_id, duration, 0, entry.priority, 0, 0, 1, cookie, packets, 99 * packets)
    return struct.pack("!HBxIIHHHH4xQQQ", *head) + rest


def group_bytes(package: str, group: Group) -> bytes:
    message = Messages(library(package)).change(AddGroup(group))
    rest = bytearray()
    for bucket in message.buckets:
        bucket.serialize(rest, len(rest))
    return struct.pack("!HBxI", 8 + len(rest), message.type, group.group_id) + rest


class Polled:
    """A connection that is polled by hand, and the snapshots that come of it."""

    def __init__(self, package: str = "os_ken", most: int = 1000) -> None:
        self.snapshots: list[Snapshot] = []
        self.asked: dict[Poll, int] = {}
        self.parsed = 0
        messages = Messages(library(package), own_cookies=(OWN_COOKIE,))
        parse = messages._parsed

        def counted(*arguments: Any) -> Any:  # noqa: ANN401  # the framework's
            self.parsed += 1
            return parse(*arguments)

        messages._parsed = counted  # type: ignore[method-assign, assignment]
        self.polls = TablePolls("s1", messages, most, self._ask, self.snapshots.append)

    def _ask(self, poll: Poll) -> int:
        self.asked[poll] = len(self.asked) + 1
        return self.asked[poll]

    def take(self, poll: Poll, *bodies: bytes) -> None:
        for _ in self.polls.taken(self.asked[poll], bodies, lambda: 2.0):
            pass

    def poll(
        self, entries: Iterable[bytes] = (), groups: Iterable[bytes] = (), *, everything: bool = False
    ) -> Snapshot:
        self.asked.clear()
        self.polls.begin(1.0, everything=everything)
        self.take(Poll.ALL_ENTRIES if everything else Poll.OWN_ENTRIES, b"".join(entries))
        self.take(Poll.GROUPS, b"".join(groups))
        self.take(Poll.GROUP_COUNTERS, struct.pack("!H2xII4xQQQQQQQ", 72, 7, 1, 5, 6, 0, 11, 12, 13, 14))
        self.take(Poll.PORT_COUNTERS, struct.pack("!I4x12QQ", 3, *range(12), 0))
        self.take(Poll.QUEUE_COUNTERS, struct.pack("!IIQQQQ", 3, 1, 5, 6, 7, 0))
        return self.snapshots[-1]


@frameworks
@given(sent=tables())
def test_a_snapshot_has_the_entries_and_groups_that_were_sent(package: str, sent: SwitchTables) -> None:
    polled = Polled(package)
    entries = [flow_bytes(package, entry, number) for number, entry in enumerate(sent.flows)]
    found = polled.poll(entries, [group_bytes(package, group) for group in sent.groups])
    assert found.entries == {FlowKey.of(entry): entry for entry in sent.flows}
    assert found.packets == {FlowKey.of(entry): number for number, entry in enumerate(sent.flows)}
    assert found.groups == {group.group_id: group for group in sent.groups}


def test_a_snapshot_has_the_counters_of_buckets_ports_and_queues() -> None:
    found = Polled().poll()
    assert found.buckets == {7: (11, 13)}
    assert found.ports == {3: PortCounters(0, 1, 3, 4, 5, 6, 7)}
    assert found.queues == {(3, 1): QueueCounters(6, 7)}
    assert (found.switch, found.asked_at, found.time) == ("s1", 1.0, 2.0)


ENTRIES = [FlowEntry(number, Match(in_port=number), (Output(1),) * (number % 3)) for number in range(1, 40)]


def test_a_table_in_which_only_counters_change_is_read_without_looking_at_each_entry() -> None:
    polled = Polled()
    other = flow_bytes("os_ken", FlowEntry(9, Match(in_port=9)), 7, cookie=OWN_COOKIE)

    def poll(packets: int, entries: Sequence[FlowEntry]) -> None:
        counts = {entry: packets + number for number, entry in enumerate(entries)}
        described = [flow_bytes("os_ken", entry, count, duration=packets) for entry, count in counts.items()]
        found = polled.poll([*described[:20], other, *described[20:]])
        assert found.entries == {FlowKey.of(entry): entry for entry in entries}
        assert found.packets == {FlowKey.of(entry): count for entry, count in counts.items()}

    changed = [*ENTRIES[:-2], replace(ENTRIES[-2], actions=(Output(2), Output(1))), ENTRIES[-1]]
    with patch.object(polled.polls, "_read_entries", wraps=polled.polls._read_entries) as slow:
        for entries, looks in (
            (ENTRIES, 2),  # the second time shows that the first was no exception
            (changed, 1),
            ([*changed[1:], changed[0]], 1),
            (ENTRIES[:-1], 2),
            (ENTRIES, 2),
        ):
            slow.reset_mock()
            for packets in (100, 200, 300, 400):
                poll(packets, entries)
            assert slow.call_count == looks


@frameworks
@given(sent=tables())
def test_a_table_is_read_as_it_is_each_time(package: str, sent: SwitchTables) -> None:
    polled = Polled(package)
    for packets in (5, 8, 13):
        found = polled.poll(flow_bytes(package, entry, packets + at) for at, entry in enumerate(sent.flows))
        assert found.packets == {FlowKey.of(entry): packets + at for at, entry in enumerate(sent.flows)}
        assert found.entries == {FlowKey.of(entry): entry for entry in sent.flows}


def test_a_switch_that_describes_an_entry_twice_is_read_as_if_once() -> None:
    polled = Polled()
    described = [flow_bytes("os_ken", entry, 5) for entry in (*ENTRIES, ENTRIES[0])]
    for _ in range(4):
        found = polled.poll(described)
        assert found.packets == {FlowKey.of(entry): 5 for entry in ENTRIES}


def test_entries_are_read_afresh_after_a_poll_for_the_entries_of_all_has_found_others() -> None:
    polled = Polled()
    described = [flow_bytes("os_ken", entry) for entry in ENTRIES]
    for _ in range(3):
        polled.poll(described)
    assert len(polled.poll(described[1:], everything=True).entries) == len(ENTRIES) - 1
    assert len(polled.poll(described).entries) == len(ENTRIES)


@frameworks
def test_a_snapshot_has_the_limits_of_meters_if_they_were_asked_for(package: str) -> None:
    polled, frames = Polled(package), Messages(library(package)).put_meter(5, 100, 500)
    bodies = []
    for frame in frames:
        frame.set_xid(1)
        frame.serialize()
        bodies.append(struct.pack("!H", len(frame.buf) - 8) + frame.buf[10:])
    assert [bodies[0]] == bodies[1:]
    described = bodies[0]
    kilobits, remarking = bytearray(described), bytearray(described)
    kilobits[3] ^= 0b11
    remarking[9] = 2
    no_band = struct.pack("!HHI", 8, 2, 9)
    polled.polls.begin(1.0, everything=False, meters=True)
    for poll in polled.asked.keys() - {Poll.METERS}:
        polled.take(poll)
    assert not polled.snapshots
    polled.take(Poll.METERS, described + no_band, with_number(kilobits, 6), with_number(remarking, 7))
    assert polled.snapshots[-1].meters == {5: (100, 500), 6: None, 7: None, 9: None}
    assert polled.poll().meters is None


def with_number(meter: bytearray, number: int) -> bytes:
    return bytes(meter[:4]) + struct.pack("!I", number) + bytes(meter[8:])


def test_what_has_not_changed_but_its_counters_is_not_parsed_again() -> None:
    polled = Polled()
    group = Group(0x10000001, GroupType.SELECT, ())
    first = polled.poll([flow_bytes("os_ken", OURS, 1)], [group_bytes("os_ken", group)])
    assert polled.parsed == 2
    second = polled.poll([flow_bytes("os_ken", OURS, 5, duration=9)], [group_bytes("os_ken", group)])
    assert polled.parsed == 2
    assert second.packets == {FlowKey.of(OURS): 5}
    assert second.entries is first.entries
    assert second.groups is first.groups


def test_equal_rules_are_the_acknowledged_ones_once_they_were_compared() -> None:
    polled = Polled()
    group = Group(0x10000001, GroupType.SELECT, ())
    sent = [flow_bytes("os_ken", OURS), flow_bytes("os_ken", THEIRS)], [group_bytes("os_ken", group)]
    other = replace(THEIRS, actions=(Output(1),))
    present = KnownTables({0x10000001: group}, {FlowKey.of(each): each for each in (OURS, other)})
    first = polled.poll(*sent)
    polled.polls.share(present)
    second = polled.poll(*sent)
    assert second.entries == first.entries
    assert second.entries[FlowKey.of(OURS)] is OURS
    assert second.entries[FlowKey.of(THEIRS)] == THEIRS
    assert second.groups[group.group_id] is group
    assert {id(key) for key in second.packets} == {id(key) for key in present.flows}
    polled.polls.share(present)
    assert polled.poll(*sent).entries is second.entries
    assert polled.parsed == 3


def test_what_is_gone_or_other_is_gone_or_other_in_the_next_snapshot() -> None:
    polled = Polled()
    groups = [Group(1, GroupType.SELECT, ()), Group(2, GroupType.SELECT, ())]
    polled.poll([flow_bytes("os_ken", OURS)], [group_bytes("os_ken", each) for each in groups])
    other = FlowEntry(OURS.priority, OURS.match, (Output(9),))
    found = polled.poll([flow_bytes("os_ken", other)], [group_bytes("os_ken", groups[0])])
    assert found.entries == {FlowKey.of(OURS): other}
    assert found.groups == {1: groups[0]}
    assert polled.poll().entries == {}


def test_entries_of_others_are_told_apart_and_only_so_many_are_read() -> None:
    polled = Polled(most=2 * MOST_FOREIGN)
    one = polled.poll([flow_bytes("os_ken", OURS), flow_bytes("os_ken", THEIRS, cookie=5)], everything=True)
    assert one.entries == {FlowKey.of(OURS): OURS}
    assert one.foreign == (ForeignEntry(5, FlowKey.of(THEIRS), frozenset({7})),)
    many = (FlowEntry(400, Match(in_port=number), (Output(2),)) for number in range(MOST_FOREIGN + 3))
    found = polled.poll([flow_bytes("os_ken", each, cookie=5) for each in many], everything=True)
    assert (len(found.foreign or ()), found.more_foreign) == (MOST_FOREIGN, 3)
    of_ours = (FlowEntry(300, Match(in_port=number), (Output(2),)) for number in range(MOST_FOREIGN + 3))
    mixed = [
        *(flow_bytes("os_ken", each, cookie=OWN_COOKIE) for each in of_ours),
        flow_bytes("os_ken", THEIRS, cookie=5),
    ]
    found = polled.poll(mixed, everything=True)
    assert (len(found.foreign or ()), found.more_foreign) == (MOST_FOREIGN + 4, 0)
    assert polled.poll().foreign is None


def test_a_question_that_the_switch_refuses_is_not_asked_again() -> None:
    polled = Polled()
    polled.polls.begin(0.0, everything=False)
    polled.polls.refused(polled.asked[Poll.QUEUE_COUNTERS])
    polled.asked.clear()
    polled.polls.begin(1.0, everything=False)
    assert Poll.QUEUE_COUNTERS not in polled.asked
    for poll in list(polled.asked):
        polled.take(poll)
    assert polled.snapshots[-1].queues is None


def test_a_switch_that_refuses_to_show_the_entries_of_others_is_asked_for_ours() -> None:
    polled = Polled()
    polled.polls.begin(0.0, everything=True)
    polled.polls.refused(polled.asked[Poll.ALL_ENTRIES])
    polled.asked.clear()
    polled.polls.begin(1.0, everything=True)
    polled.take(Poll.OUR_ENTRIES, flow_bytes("os_ken", OURS))
    for poll in polled.asked.keys() - {Poll.OUR_ENTRIES}:
        polled.take(poll)
    (found,) = polled.snapshots
    assert (found.entries, found.foreign, found.answer) == ({FlowKey.of(OURS): OURS}, None, ())


def test_a_switch_that_refuses_to_show_entries_by_parts_of_cookies_is_asked_for_its_tables_alone() -> None:
    """Otherwise nobody would ask for entries, and the switch would seem to have lost its tables."""
    polled = Polled()
    for refused in (Poll.ALL_ENTRIES, Poll.OUR_ENTRIES):
        polled.polls.begin(0.0, everything=True)
        polled.polls.refused(polled.asked[refused])
        polled.asked.clear()
    polled.polls.begin(1.0, everything=True)
    polled.take(Poll.OWN_ENTRIES, flow_bytes("os_ken", OURS))
    for poll in polled.asked.keys() - {Poll.OWN_ENTRIES}:
        polled.take(poll)
    (found,) = polled.snapshots
    assert (found.entries, found.answer) == ({FlowKey.of(OURS): OURS}, None)


@pytest.mark.parametrize("poll", [Poll.OWN_ENTRIES, Poll.GROUPS])
def test_a_switch_that_refuses_to_show_its_tables_once_does_not_seem_to_have_lost_them(poll: Poll) -> None:
    polled = Polled()
    polled.polls.begin(0.0, everything=False)
    polled.polls.refused(polled.asked[poll])
    polled.asked.clear()
    polled.polls.begin(1.0, everything=False)
    assert poll in polled.asked
    for each in polled.asked.keys() - {poll}:
        polled.take(each)
    assert not polled.snapshots


def looked(polled: Polled, start: float, seconds: float, step: float = 0.25) -> frozenset[Poll]:
    """Look at a connection regularly; return the questions without an answer at the end."""
    found = polled.polls.unanswered(start)
    for number in range(1, round(seconds / step) + 1):
        found = polled.polls.unanswered(start + number * step)
    return found


def test_a_question_without_an_answer_is_named_however_often_it_is_asked_again() -> None:
    polled = Polled()
    for start in (0.0, 2.0):
        polled.asked.clear()
        polled.polls.begin(start, everything=not start)
        polled.polls.arrived(polled.asked[Poll.PORT_COUNTERS])
        polled.polls.arrived(polled.asked[Poll.QUEUE_COUNTERS])
        assert looked(polled, start, 2.0) == (
            {Poll.OWN_ENTRIES, Poll.GROUPS, Poll.GROUP_COUNTERS} if start else frozenset()
        )
    polled.polls.arrived(polled.asked[Poll.GROUPS])
    assert looked(polled, 4.0, 2.0) == {Poll.OWN_ENTRIES, Poll.GROUP_COUNTERS}
    polled.polls.end()
    assert looked(polled, 6.0, 2.0) == frozenset()


def test_a_process_that_stood_still_blames_no_switch_for_that() -> None:
    polled = Polled()
    polled.polls.begin(0.0, everything=False)
    assert polled.polls.unanswered(0.0) == polled.polls.unanswered(60.0) == frozenset()


@pytest.mark.parametrize("poll", [Poll.OWN_ENTRIES, Poll.QUEUE_COUNTERS])
def test_a_refusal_answers_a_question_unless_tables_remain_unknown(poll: Poll) -> None:
    polled = Polled()
    polled.polls.begin(0.0, everything=False)
    for other in polled.asked.keys() - {poll}:
        polled.polls.arrived(polled.asked[other])
    polled.polls.refused(polled.asked[poll])
    assert looked(polled, 0.0, 4.0) == {poll} - {Poll.QUEUE_COUNTERS}


COUNTERS = {
    Poll.GROUP_COUNTERS: lambda number: struct.pack("!H2xI32x", 40, number),
    Poll.PORT_COUNTERS: lambda number: struct.pack("!I108x", number),
    Poll.QUEUE_COUNTERS: lambda number: struct.pack("!II32x", 1, number),
}


@pytest.mark.parametrize("poll", COUNTERS)
def test_counters_without_end_are_read_in_short_steps_and_are_the_switchs_fault(poll: Poll) -> None:
    polled = Polled(most=1000)
    polled.polls.begin(0.0, everything=False)
    bodies = list(map(COUNTERS[poll], range(1001)))
    steps = list(polled.polls.taken(polled.asked[poll], bodies[:1000], lambda: 2.0))
    assert len(steps) >= 4
    polled.asked.clear()
    polled.polls.begin(0.0, everything=False)
    with pytest.raises(SwitchFaultError, match="more than 1000"):
        polled.take(poll, *bodies)


def test_an_answer_to_a_poll_that_is_over_is_ignored() -> None:
    polled = Polled()
    polled.polls.begin(0.0, everything=False)
    polled.polls.end()
    for poll in list(polled.asked):
        polled.take(poll)
    assert not polled.snapshots


def test_more_entries_than_a_switch_may_have_are_its_fault() -> None:
    polled = Polled(most=3)
    entries = [flow_bytes("os_ken", FlowEntry(1, Match(in_port=number))) for number in range(4)]
    with pytest.raises(SwitchFaultError, match="more than 3"):
        polled.poll(entries)


WALKS = (
    poll_bodies.flow_entries,
    poll_bodies.groups,
    poll_bodies.bucket_counters,
    poll_bodies.port_counters,
    poll_bodies.queue_counters,
    poll_bodies.meters,
    poll_bodies.table_sizes,
    poll_bodies.group_sizes,
)


@pytest.mark.parametrize("walk", WALKS)
@given(body=st.binary(max_size=200))
def test_any_bytes_are_walked_or_are_the_fault_of_the_switch(walk: Any, body: bytes) -> None:  # noqa: ANN401  # one of them
    with suppress(SwitchFaultError):
        list(walk([body]))


@given(seed=st.integers(0, 2**32))
def test_damaged_entries_and_groups_are_read_or_are_the_fault_of_the_switch(seed: int) -> None:
    random = Random(seed)
    polled = Polled()
    group = Group(0x10000001, GroupType.SELECT, ())
    body = bytearray(random.choice((flow_bytes("os_ken", THEIRS, cookie=seed % 2), group_bytes("os_ken", group))))
    for _ in range(random.randint(1, 4)):
        body[random.randrange(len(body))] = random.randrange(256)
    polled.polls.begin(0.0, everything=True)
    with suppress(SwitchFaultError):
        polled.take(random.choice((Poll.ALL_ENTRIES, Poll.GROUPS)), bytes(body))
