"""Messages field by field, by either framework's classes, with the numbers of OpenFlow 1.3.5."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from kuijia_app.control.openflow import Messages
from kuijia_app.control.reconciliation import DeleteFlow, DeleteGroup, FlowKey, ModifyGroup, PutFlow
from kuijia_app.control.snapshot import Poll, Room
from kuijia_app.tables import identifiers
from kuijia_app.tables.rules import Bucket, FlowEntry, Group, GroupType, LowerTtl, Match, Output, ToController

ANY, ALL_BITS, CONTROLLER, NO_BUFFER = 0xFFFFFFFF, (1 << 64) - 1, 0xFFFFFFFD, 0xFFFF
SELECT, INDIRECT, FAST_FAILOVER = 1, 2, 3


@pytest.fixture(params=["ryu", "os_ken"])
def messages(request: pytest.FixtureRequest) -> Messages:
    protocol = f"{request.param}.ofproto.ofproto_v1_3"
    datapath = SimpleNamespace(ofproto=import_module(protocol), ofproto_parser=import_module(f"{protocol}_parser"))
    return Messages(datapath, own_cookies=(5,))


def fields(message: Any, *names: str) -> tuple[Any, ...]:  # noqa: ANN401  # the framework's
    return tuple(getattr(message, name) for name in names)


def matched(message: Any) -> dict[str, Any]:  # noqa: ANN401  # the framework's
    return dict(message.match.items())


def test_an_entry_reports_its_removal_and_is_deleted_strictly_by_its_cookie(messages: Messages) -> None:
    entry = FlowEntry(7, Match(in_port=3), (Output(1),), table_id=4, goto_table=6)
    put = messages.change(PutFlow(entry))
    assert fields(put, "command", "cookie", "table_id", "priority") == (0, identifiers.COOKIE, 4, 7)
    assert fields(put, "idle_timeout", "hard_timeout", "flags") == (0, 0, 1)
    assert (matched(put), [each.type for each in put.instructions]) == ({"in_port": 3}, [4, 1])
    gone = messages.change(DeleteFlow(FlowKey.of(entry)))
    assert fields(gone, "command", "cookie", "cookie_mask") == (4, identifiers.COOKIE, ALL_BITS)
    assert fields(gone, "table_id", "priority", "out_port", "out_group") == (4, 7, ANY, ANY)
    assert matched(gone) == {"in_port": 3}
    nothing = messages.count_now()
    assert fields(nothing, "command", "table_id", "priority") == (4, 0, identifiers.NO_PRIORITY)


def test_buckets_weigh_alike_and_watch_something_or_nothing(messages: Messages) -> None:
    buckets = (Bucket((Output(1),)), Bucket((Output(2),), watch_port=2, watch_group=9))
    for kind, number, weight in ((GroupType.SELECT, SELECT, 1), (GroupType.FAST_FAILOVER, FAST_FAILOVER, 0)):
        message = messages.change(ModifyGroup(Group(7, kind, buckets)))
        assert fields(message, "command", "type", "group_id") == (1, number, 7)
        found = [fields(each, "weight", "watch_port", "watch_group") for each in message.buckets]
        assert found == [(weight, ANY, ANY), (weight, 2, 9)]
    assert fields(messages.change(DeleteGroup(7)), "command", "type", "group_id", "buckets") == (2, INDIRECT, 7, [])


def test_entries_beside_the_plan_have_cookies_of_their_own_and_end_by_themselves_or_not(messages: Messages) -> None:
    catch = messages.catch_probes(Match(eth_type=0x88CC))
    assert fields(catch, "cookie", "priority") == (identifiers.LINK_PROBE_COOKIE, identifiers.LINK_PROBE_PRIORITY)
    assert fields(catch, "command", "idle_timeout", "hard_timeout") == (0, 0, 0)
    ((action,),) = [each.actions for each in catch.instructions]
    assert fields(action, "port", "max_len") == (CONTROLLER, NO_BUFFER)
    entry = FlowEntry(7, Match(in_port=3), (LowerTtl(), ToController()), table_id=2)
    for lifetime, meter, kinds in ((0, None, [4]), (30, 9, [6, 4])):
        put = messages.put_neighbour(entry, lifetime, meter)
        assert fields(put, "cookie", "table_id", "priority") == (identifiers.NEIGHBOUR_COOKIE, 2, 7)
        assert (put.hard_timeout, [each.type for each in put.instructions]) == (lifetime, kinds)
    gone = messages.delete_neighbour(entry)
    assert fields(gone, "command", "cookie", "cookie_mask") == (4, identifiers.NEIGHBOUR_COOKIE, ALL_BITS)


def test_roles_are_claimed_with_their_ids_and_asked_for_without(messages: Messages) -> None:
    found = [
        fields(each, "role", "generation_id")
        for each in (messages.ask_for_role(), messages.claim_role(8), messages.claim_slave(9))
    ]
    assert found == [(0, 0), (2, 8), (3, 9)]


def test_masters_hear_of_ports_packets_and_removals_and_slaves_of_ports(messages: Messages) -> None:
    message = messages.reports_of_ports()
    assert message.packet_in_mask == [0b110, 0]
    assert message.port_status_mask == [0b111, 0b111]
    assert message.flow_removed_mask == [0b1111, 0]


@pytest.mark.parametrize(
    ("poll", "kind", "asked"),
    [
        (Poll.OWN_ENTRIES, "OFPFlowStatsRequest", (identifiers.COOKIE, 0xFFFF_FFFF_FFFF_FFFF)),
        (Poll.OUR_ENTRIES, "OFPFlowStatsRequest", (identifiers.COMMON_COOKIE, identifiers.COMMON_COOKIE_MASK)),
        (Poll.ALL_ENTRIES, "OFPFlowStatsRequest", (0, 0)),
        (Poll.GROUPS, "OFPGroupDescStatsRequest", ()),
        (Poll.GROUP_COUNTERS, "OFPGroupStatsRequest", (0xFFFFFFFC,)),
        (Poll.PORT_COUNTERS, "OFPPortStatsRequest", (ANY,)),
        (Poll.QUEUE_COUNTERS, "OFPQueueStatsRequest", (ANY, ANY)),
        (Poll.METERS, "OFPMeterConfigStatsRequest", (ANY,)),
    ],
)
def test_a_poll_asks_for_everything(messages: Messages, poll: Poll, kind: str, asked: tuple[int, ...]) -> None:
    names = {
        "OFPFlowStatsRequest": ("cookie", "cookie_mask"),
        "OFPGroupStatsRequest": ("group_id",),
        "OFPPortStatsRequest": ("port_no",),
        "OFPQueueStatsRequest": ("port_no", "queue_id"),
        "OFPMeterConfigStatsRequest": ("meter_id",),
    }
    message = messages.poll(poll)
    assert (type(message).__name__, message.flags) == (kind, 0)
    assert fields(message, *names.get(kind, ())) == asked
    if kind == "OFPFlowStatsRequest":
        assert fields(message, "table_id", "out_port", "out_group") == (0xFF, ANY, ANY)


def test_room_is_asked_for_by_what_lacks(messages: Messages) -> None:
    of_entries, of_groups = messages.ask_for_room(Room.OF_ENTRIES), messages.ask_for_room(Room.OF_GROUPS)
    assert [type(each).__name__ for each in (of_entries, of_groups)] == [
        "OFPTableFeaturesStatsRequest",
        "OFPGroupFeaturesStatsRequest",
    ]
    table = bytes((0, 64, 3)) + bytes(57) + (1000).to_bytes(4, "big")
    assert list(messages.room(Room.OF_ENTRIES, [table])) == [(3, 1000)]
    assert list(messages.room(Room.OF_GROUPS, [bytes(8) + bytes((0, 0, 0, 9)) * 4 + bytes(16)])) == [
        (kind, 9) for kind in range(4)
    ]


def test_entries_are_told_apart_by_their_cookies(messages: Messages) -> None:
    def with_cookie(cookie: int) -> bytes:
        return bytes(16) + cookie.to_bytes(8, "big") + bytes(8)

    cookies = [identifiers.COOKIE, identifiers.NEIGHBOUR_COOKIE, 5, 6]
    kinds = (messages.is_own, messages.is_for_hosts, messages.is_of_application)
    assert [[kind(with_cookie(each)) for each in cookies] for kind in kinds] == [
        [True, False, False, False],
        [False, True, False, False],
        [False, False, True, False],
    ]


def test_a_meter_drops_packets_by_their_number(messages: Messages) -> None:
    found = messages.put_meter(9, 100, 500)
    assert [fields(each, "command", "flags", "meter_id") for each in found] == [(1, 0b110, 9), (0, 0b110, 9)]
    assert [fields(band, "type", "rate", "burst_size") for each in found for band in each.bands] == [(1, 100, 500)] * 2


def test_a_frame_leaves_by_a_queue_if_one_is_given(messages: Messages) -> None:
    plain, queued = messages.send_frame(3, b"frame"), messages.send_frame(3, b"frame", 0)
    assert fields(plain, "buffer_id", "in_port", "data") == (ANY, CONTROLLER, b"frame")
    assert [each.type for each in plain.actions] == [0]
    assert [(each.type, getattr(each, "queue_id", None)) for each in queued.actions] == [(21, 0), (0, None)]
    assert queued.actions[-1].port == 3


def test_bundles_are_atomic_and_ordered(messages: Messages) -> None:
    controls = [messages.open_bundle(7), messages.commit_bundle(8), messages.discard_bundle(9)]
    assert [fields(each, "bundle_id", "type", "flags") for each in controls] == [(7, 0, 3), (8, 4, 3), (9, 6, 3)]
    inside = messages.barrier()
    assert fields(messages.in_bundle(7, inside), "bundle_id", "flags", "message") == (7, 3, inside)


def test_a_group_above_all_ids_is_none(messages: Messages) -> None:
    last = 0xFFFFFF00
    described = [SimpleNamespace(type=SELECT, group_id=number, buckets=[]) for number in (last, last + 1)]
    assert [messages.group(each) for each in described] == [(last, Group(last, GroupType.SELECT, ()), True), None]
