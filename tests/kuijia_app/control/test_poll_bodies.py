"""Bodies of answers byte by byte, as OpenFlow 1.3.5 lays them out."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from kuijia_app.control import poll_bodies
from kuijia_app.control.snapshot import PortCounters, QueueCounters
from kuijia_app.framework.switch_limits import SwitchFaultError

COOKIE = bytes(range(8))


def flow(length: int = 56, packets: int = 7, durations: int = 1, cookie: bytes = COOKIE) -> bytes:
    """Return an entry of a flow statistics reply (7.3.5.2), each byte of its identity another one."""
    head = struct.pack("!HBxII", length, 4, durations, 2 * durations) + bytes(range(100, 112))
    return head + cookie + struct.pack("!QQ", packets, 10 * packets) + bytes(range(200, 200 + length - 48))


def identity(entry: bytes) -> bytes:
    """Return an entry without its durations, packets and bytes."""
    return b"".join(entry[start:end] for start, end in ((0, 4), (12, 32), (48, len(entry))))


def test_an_entry_is_told_by_all_but_its_counters_and_durations() -> None:
    entries = [flow(), flow(64, 8, 3), flow(56, 2**40)]
    found = list(poll_bodies.flow_entries([entries[0] + entries[1], b"", entries[2]]))
    assert found == [(identity(each), packets) for each, packets in zip(entries, (7, 8, 2**40), strict=True)]
    assert poll_bodies.cookie_of(found[0][0]) == COOKIE
    blank = flow(64, 0, 0)
    assert poll_bodies.whole_entry(found[1][0]) == blank


@pytest.mark.parametrize(
    ("walk", "body"),
    [
        (poll_bodies.flow_entries, flow()[:-1]),
        (poll_bodies.flow_entries, flow(64)[:-1]),
        (poll_bodies.flow_entries, struct.pack("!H", 48) + flow()[2:]),
        (poll_bodies.flow_entries, struct.pack("!H", 57) + flow(64)[2:]),
        (poll_bodies.flow_entries, struct.pack("!H", 48) + flow()[2:48] + flow()),
        (poll_bodies.flow_entries, struct.pack("!H", 57) + flow(64)[2:57] + flow()),
        (poll_bodies.groups, struct.pack("!HBxI", 0, 1, 7)),
        (poll_bodies.groups, struct.pack("!HBxI", 12, 1, 7) + bytes(4)),
        (poll_bodies.groups, struct.pack("!HBxI", 16, 1, 7) + bytes(7)),
        (poll_bodies.groups, struct.pack("!HBx", 8, 1)),
        (poll_bodies.groups, struct.pack("!HBxI", 12, 1, 7) + bytes(4) + struct.pack("!HBxI", 8, 1, 7)),
        (poll_bodies.table_sizes, struct.pack("!H", 56) + bytes(54) + struct.pack("!H", 64) + bytes(62)),
        (poll_bodies.bucket_counters, struct.pack("!H2xI40x", 48, 7)),
        (poll_bodies.port_counters, bytes(111)),
        (poll_bodies.queue_counters, bytes(41)),
        (poll_bodies.table_sizes, struct.pack("!H", 56) + bytes(62)),
        (poll_bodies.group_sizes, bytes(39)),
        (poll_bodies.meters, struct.pack("!HHI", 0, 2, 9)),
    ],
)
def test_impossible_lengths_are_a_fault_of_the_switch(
    walk: Callable[[Iterable[bytes]], Iterator[Any]], body: bytes
) -> None:
    with pytest.raises(SwitchFaultError, match="of no possible length"):
        list(walk([body]))


def test_groups_and_the_packets_of_their_buckets_are_read_one_after_the_other() -> None:
    described = [struct.pack("!HBxI", 8, 1, 7), struct.pack("!HBxI", 16, 3, 9) + bytes(range(8))]
    assert list(poll_bodies.groups([b"".join(described)])) == described
    counted = struct.pack("!H2xI32xQQQQ", 72, 7, 11, 12, 13, 14) + struct.pack("!H2xI32x", 40, 9)
    assert list(poll_bodies.bucket_counters([counted])) == [(7, (11, 13)), (9, ())]


def test_counters_and_sizes_have_their_places() -> None:
    port = struct.pack("!I4x12Q8x", 3, *range(12))
    assert list(poll_bodies.port_counters([port * 2])) == [(3, PortCounters(0, 1, 3, 4, 5, 6, 7))] * 2
    queue = struct.pack("!II4Q", 3, 1, 5, 6, 7, 8)
    assert list(poll_bodies.queue_counters([queue])) == [((3, 1), QueueCounters(6, 7))]
    table = struct.pack("!HB57xI", 64, 4, 1000)
    longer = struct.pack("!HB57xI8x", 72, 5, 9)
    assert list(poll_bodies.table_sizes([longer + table])) == [(5, 9), (4, 1000)]
    groups = struct.pack("!II8I", 1, 2, *range(8))
    assert list(poll_bodies.group_sizes([groups])) == [(0, 0), (1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("flags", "kind", "limits"), [(2, 1, (100, 500)), (3, 1, (100, 500)), (1, 1, None), (0, 1, None), (2, 2, None)]
)
def test_a_meter_limits_if_it_drops_packets_by_their_number(
    flags: int, kind: int, limits: tuple[int, int] | None
) -> None:
    meter = struct.pack("!HHIHHII4x", 24, flags, 9, kind, 16, 100, 500)
    assert list(poll_bodies.meters([meter])) == [(9, limits)]
    two_bands = struct.pack("!H", 40) + meter[2:] + meter[8:]
    assert list(poll_bodies.meters([two_bands, struct.pack("!HHI", 8, 2, 5)])) == [(9, None), (5, None)]


def test_entries_of_a_known_shape_are_read_at_once_and_others_not_at_all() -> None:
    other = flow(cookie=bytes(8))
    shape = poll_bodies.EntryShape([flow() + other + flow(64), flow()], COOKIE)
    later = [flow(packets=20, durations=9) + other + flow(64, 30), flow(packets=40)]
    assert list(shape.packets(later)) == [[20, 30], [40]]
    assert list(shape.packets([flow() + flow() + flow(64), flow(packets=3)])) == [None, [3]]
    assert list(shape.packets([*later, flow()])) == [None]
    assert list(shape.packets([flow() + other + flow(72), flow()])) == [None]


def test_buckets_of_a_known_shape_are_read_at_once_and_others_not_at_all() -> None:
    def counted(group_id: int, *packets: int) -> bytes:
        body = b"".join(struct.pack("!QQ", each, 99) for each in packets)
        return struct.pack("!H2xI32x", 40 + len(body), group_id) + body

    shape = poll_bodies.BucketShape([counted(7, 1, 2) + counted(9), counted(3, 4)])
    assert list(shape.buckets([counted(7, 5, 6) + counted(9), counted(3, 8)])) == [{7: (5, 6), 9: ()}, {3: (8,)}]
    assert list(shape.buckets([counted(8, 5, 6) + counted(9), counted(3, 8)])) == [None, {3: (8,)}]
    assert list(shape.buckets([counted(7, 5) + counted(9, 6), counted(3, 8)])) == [None, {3: (8,)}]
    assert list(shape.buckets([counted(7, 5, 6), counted(3, 8)])) == [None]
