"""Whatever a switch says that it has, it is read without an exception, and what cannot be named is left alone."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hedera.scheduling.messages import COUNTER_COOKIE, readings
from kuijia_app.control.openflow import Messages
from kuijia_app.control.openflow_reading import error_name, read_flow, read_group
from kuijia_app.control.reconciliation import DeleteFlow, DeleteGroup, FlowKey
from kuijia_app.tables.rules import Group, Match
from tests.kuijia_app.hostile_statistics import flow_statistics, group_descriptions, ofproto_of, parser_of

pytestmark = pytest.mark.slow

frameworks = pytest.mark.parametrize("package", ["os_ken", "ryu"])
many = settings(max_examples=150, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


def datapath(package: str) -> SimpleNamespace:
    return SimpleNamespace(ofproto=ofproto_of(package), ofproto_parser=parser_of(package))


@frameworks
@many
@given(data=st.data())
def test_any_flow_entry_is_one_of_our_rules_or_none_and_can_be_deleted_or_is_left_alone(
    package: str, data: st.DataObject
) -> None:
    key, entry = read_flow(ofproto_of(package), data.draw(flow_statistics(package)))
    hash(key)
    assert entry is None or isinstance(key.match, Match)
    messages = Messages(datapath(package))
    if messages.can_name(key):
        message = messages.change(DeleteFlow(key))
        message.set_xid(1)
        message.serialize()


@frameworks
@many
@given(data=st.data())
def test_any_group_is_one_of_our_rules_or_none(package: str, data: st.DataObject) -> None:
    description = data.draw(group_descriptions(package))
    group = read_group(ofproto_of(package), description)
    assert group is None or isinstance(group, Group)
    hash(group)
    message = Messages(datapath(package)).change(DeleteGroup(description.group_id))
    message.set_xid(1)
    message.serialize()


@frameworks
@many
@given(data=st.data())
def test_any_counters_are_those_of_flows_or_none(package: str, data: st.DataObject) -> None:
    statistics = data.draw(st.lists(flow_statistics(package, COUNTER_COOKIE), max_size=2))
    for reading in readings(statistics):
        hash(reading.flow)
        assert 0 <= reading.flow.source_port <= 0xFFFF
        assert 0 <= reading.flow.target_port <= 0xFFFF


@frameworks
@given(content=st.binary(min_size=4, max_size=80))
def test_any_error_has_a_name(package: str, content: bytes) -> None:
    kind, code = struct.unpack_from("!HH", content)
    error = SimpleNamespace(type=kind, code=code, exp_type=code)
    assert len(error_name(ofproto_of(package), error)) < 100


@frameworks
@pytest.mark.parametrize(
    "destination", [("10.0.0.0", "255.0.255.0"), ("10.0.0.1", "255.255.255.0"), ("10.0.0.0", "0.0.0.255")]
)
def test_a_mask_that_is_no_prefixs_is_none_of_our_rules(package: str, destination: tuple[str, str]) -> None:
    statistics = SimpleNamespace(
        table_id=0, priority=1, instructions=[], match=parser_of(package).OFPMatch(eth_type=0x0800)
    )
    statistics.match._fields2 = [("eth_type", 0x0800), ("ipv4_dst", destination)]
    key, entry = read_flow(ofproto_of(package), statistics)
    assert entry is None
    assert dict(key.match) == {"eth_type": 0x0800, "ipv4_dst": destination}  # type: ignore[arg-type]  # no Match


def test_counters_of_flows_under_a_mask_are_none_of_a_flow() -> None:
    whole = {"eth_type": 0x800, "ip_proto": 6, "ipv4_src": "10.0.0.2", "ipv4_dst": "10.2.1.3", "tcp_src": 1}
    for masked in ({"ipv4_src": ("10.0.0.0", "255.0.255.0")}, {"tcp_src": (2, 2)}):
        match = SimpleNamespace(items=lambda masked=masked: [*{**whole, "tcp_dst": 2, **masked}.items()])
        assert readings([SimpleNamespace(match=match, byte_count=1, duration_sec=0, duration_nsec=0)]) == []


@frameworks
def test_an_entry_can_be_named_unless_there_is_no_such_field(package: str) -> None:
    messages = Messages(datapath(package))
    assert messages.can_name(FlowKey(0, 5, Match(in_port=1)))
    assert messages.can_name(FlowKey(0, 5, (("eth_type", 0x86DD),)))
    assert not messages.can_name(FlowKey(0, 5, (("no_such_field", 1),)))
