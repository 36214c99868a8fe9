"""The scheduler's own messages, and its readings of switches' answers."""

from __future__ import annotations

from importlib import import_module
from ipaddress import ip_address
from types import SimpleNamespace

import pytest

from hedera.scheduling.messages import SCHEDULED_COOKIE, SchedulerMessages, readings
from hedera.scheduling.polling import FiveTuple, ScheduledEntry
from kuijia_app.tables.families import Family

ROUTE_TABLE = 1
TCP, UDP = 6, 17
SCHEDULED_PRIORITY = 100

ENDS = {4: ("10.0.0.2", "10.2.1.3"), 6: ("2001:db8::2", "2001:db8:2:1::3")}

frameworks = pytest.mark.parametrize("package", ["os_ken", "ryu"])


def messages(package: str) -> SchedulerMessages:
    datapath = SimpleNamespace(
        ofproto=import_module(f"{package}.ofproto.ofproto_v1_3"),
        ofproto_parser=import_module(f"{package}.ofproto.ofproto_v1_3_parser"),
    )
    return SchedulerMessages(datapath)


def flow(protocol: int, version: int = 4) -> FiveTuple:
    source, target = map(ip_address, ENDS[version])
    return FiveTuple(source, target, protocol, 20000, 5001)


@frameworks
@pytest.mark.parametrize("protocol", [TCP, UDP])
def test_a_flow_that_ended_before_it_was_placed_leaves_entries_that_time_out(package: str, protocol: int) -> None:
    put = messages(package).put(ScheduledEntry("p0e0", flow(protocol), 7), idle_timeout=10)
    assert (put.idle_timeout, put.hard_timeout) == (10, 0)
    assert (put.table_id, put.priority, put.cookie) == (ROUTE_TABLE, SCHEDULED_PRIORITY, SCHEDULED_COOKIE)


@frameworks
@pytest.mark.parametrize("version", ENDS)
def test_what_is_deleted_is_what_was_put(package: str, version: int) -> None:
    entry = ScheduledEntry("p0e0", flow(TCP, version), 7)
    put, deleted = messages(package).put(entry, 10), messages(package).delete(entry)
    assert dict(deleted.match.items()) == dict(put.match.items())
    assert (deleted.priority, deleted.table_id, deleted.cookie) == (put.priority, put.table_id, put.cookie)


@frameworks
def test_entries_that_are_no_flows_are_not_read(package: str) -> None:
    parser = import_module(f"{package}.ofproto.ofproto_v1_3_parser")
    whole = {"eth_type": 0x800, "ip_proto": 6, "ipv4_src": "10.0.0.2", "ipv4_dst": "10.2.1.3"}
    ports = {"tcp_src": 20000, "tcp_dst": 5001}
    of_flow = parser.OFPMatch(**whole, **ports)
    others = [parser.OFPMatch(), parser.OFPMatch(**whole), parser.OFPMatch(**{**whole, "ip_proto": 47})]
    for field, masked in (
        ("ipv4_src", ("10.0.0.0", "255.255.255.0")),
        ("ipv4_dst", ("10.2.1.0", "255.255.255.0")),
        ("tcp_src", None),
        ("tcp_dst", None),
    ):
        fields = {name: masked if name == field else value for name, value in {**whole, **ports}.items()}
        others.append(parser.OFPMatch(**{name: value for name, value in fields.items() if value is not None}))
    answers = [
        SimpleNamespace(match=match, byte_count=9000, duration_sec=2, duration_nsec=500_000_000)
        for match in (*others, of_flow)
    ]
    (only,) = readings(answers)
    assert (only.flow, only.byte_count, only.age) == (flow(TCP), 9000, 2.5)


@frameworks
@pytest.mark.parametrize("protocol", [TCP, UDP])
@pytest.mark.parametrize("version", ENDS)
def test_the_entry_of_a_flow_is_read_as_that_flow(package: str, protocol: int, version: int) -> None:
    put = messages(package).put(ScheduledEntry("p0e0", flow(protocol, version), 7), 10)
    answer = SimpleNamespace(match=put.match, byte_count=9000, duration_sec=2, duration_nsec=0)
    assert [each.flow for each in readings([answer])] == [flow(protocol, version)]


@frameworks
def test_flows_are_counted_by_protocol_and_family(package: str) -> None:
    counting = messages(package).count_flows_from(3, tuple(Family))
    asked = [(dict(each.match.items())["eth_type"], dict(each.match.items())["ip_proto"]) for each in counting]
    assert asked == [(0x0800, TCP), (0x0800, UDP), (0x86DD, TCP), (0x86DD, UDP)]
