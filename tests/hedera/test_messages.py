"""The scheduler's own messages, and its readings of switches' answers."""

from __future__ import annotations

from importlib import import_module
from ipaddress import IPv4Address
from types import SimpleNamespace

import pytest

from hedera.scheduling.messages import SCHEDULED_COOKIE, SchedulerMessages, readings
from hedera.scheduling.polling import FiveTuple, ScheduledEntry

ROUTE_TABLE = 1
TCP, UDP = 6, 17
SCHEDULED_PRIORITY = 100

frameworks = pytest.mark.parametrize("package", ["os_ken", "ryu"])


def messages(package: str) -> SchedulerMessages:
    datapath = SimpleNamespace(
        ofproto=import_module(f"{package}.ofproto.ofproto_v1_3"),
        ofproto_parser=import_module(f"{package}.ofproto.ofproto_v1_3_parser"),
    )
    return SchedulerMessages(datapath)


def flow(protocol: int) -> FiveTuple:
    return FiveTuple(IPv4Address("10.0.0.2"), IPv4Address("10.2.1.3"), protocol, 20000, 5001)


@frameworks
@pytest.mark.parametrize("protocol", [TCP, UDP])
def test_a_flow_that_ended_before_it_was_placed_leaves_entries_that_time_out(package: str, protocol: int) -> None:
    put = messages(package).put(ScheduledEntry("p0e0", flow(protocol), 7), idle_timeout=10)
    assert (put.idle_timeout, put.hard_timeout) == (10, 0)
    assert (put.table_id, put.priority, put.cookie) == (ROUTE_TABLE, SCHEDULED_PRIORITY, SCHEDULED_COOKIE)


@frameworks
def test_what_is_deleted_is_what_was_put(package: str) -> None:
    entry = ScheduledEntry("p0e0", flow(TCP), 7)
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
