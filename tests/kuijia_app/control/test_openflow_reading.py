"""The tables that a switch reports, in the bytes of either framework's messages, are those it was sent."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given

from kuijia_app.control.openflow import Messages
from kuijia_app.control.openflow_reading import error_name, is_ours, read_flow, read_group
from kuijia_app.control.reconciliation import AddGroup, FlowKey, PutFlow
from kuijia_app.tables.identifiers import COOKIE
from kuijia_app.tables.rules import FlowEntry, Group, SwitchTables
from tests.kuijia_app.switch_tables import tables

FRAMEWORKS = ("ryu", "os_ken")

frameworks = pytest.mark.parametrize("package", FRAMEWORKS)


def library(package: str) -> Any:  # noqa: ANN401  # a module of either framework, which have no types
    """The protocol's constants and message classes, as a connection has them."""
    return SimpleNamespace(
        ofproto=import_module(f"{package}.ofproto.ofproto_v1_3"),
        ofproto_parser=import_module(f"{package}.ofproto.ofproto_v1_3_parser"),
    )


def flow_sent_and_described(package: str, entry: FlowEntry) -> tuple[FlowKey, FlowEntry | None]:
    """The entry as it comes back from bytes on the wire."""
    datapath = library(package)
    parser = datapath.ofproto_parser
    message = Messages(datapath).change(PutFlow(entry))
    match, instructions = bytearray(), []
    message.match.serialize(match, 0)
    for instruction in message.instructions:
        buffer = bytearray()
        instruction.serialize(buffer, 0)
        instructions.append(parser.OFPInstruction.parser(bytes(buffer), 0))
    statistics = SimpleNamespace(
        table_id=message.table_id,
        priority=message.priority,
        match=parser.OFPMatch.parser(bytes(match), 0),
        instructions=instructions,
    )
    return read_flow(datapath.ofproto, statistics)


def group_sent_and_described(package: str, group: Group) -> Group | None:
    datapath = library(package)
    message = Messages(datapath).change(AddGroup(group))
    buckets = []
    for bucket in message.buckets:
        buffer = bytearray()
        bucket.serialize(buffer, 0)
        buckets.append(datapath.ofproto_parser.OFPBucket.parser(bytes(buffer), 0))
    description = SimpleNamespace(type=message.type, group_id=message.group_id, buckets=buckets)
    return read_group(datapath.ofproto, description)


@frameworks
@given(sent=tables())
def test_entries_and_groups_come_back_as_they_were_sent(package: str, sent: SwitchTables) -> None:
    for entry in sent.flows:
        assert flow_sent_and_described(package, entry) == (FlowKey.of(entry), entry)
    for group in sent.groups:
        assert group_sent_and_described(package, group) == group


@frameworks
def test_what_no_rule_of_ours_has_is_told_by_its_key_alone(package: str) -> None:
    datapath = library(package)
    parser, ofproto = datapath.ofproto_parser, datapath.ofproto
    odd_match = parser.OFPMatch(vlan_vid=(0x1005, 0x100F))
    key, entry = read_flow(ofproto, SimpleNamespace(table_id=0, priority=7, match=odd_match, instructions=[]))
    assert (key.match, entry) == ((("vlan_vid", (0x1005, 0x100F)),), None)
    masked = parser.OFPMatch(eth_dst=("02:00:00:00:00:01", "ff:ff:ff:ff:ff:fe"))
    assert read_flow(ofproto, SimpleNamespace(table_id=0, priority=7, match=masked, instructions=[]))[1] is None
    odd_action = parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, [parser.OFPActionDecMplsTtl()])
    plain = parser.OFPMatch(in_port=1)
    key, entry = read_flow(ofproto, SimpleNamespace(table_id=0, priority=7, match=plain, instructions=[odd_action]))
    assert entry is None
    uneven = parser.OFPBucket(weight=3, watch_port=ofproto.OFPP_ANY, watch_group=ofproto.OFPG_ANY, actions=[])
    described = SimpleNamespace(type=ofproto.OFPGT_SELECT, group_id=1, buckets=[uneven])
    assert read_group(ofproto, described) is None


def test_ours_is_what_carries_our_cookie() -> None:
    assert is_ours(SimpleNamespace(cookie=COOKIE))
    assert not is_ours(SimpleNamespace(cookie=COOKIE + 1))


@frameworks
@pytest.mark.parametrize(
    ("error_type", "code", "name"),
    [
        (1, 10, "OFPET_BAD_REQUEST/OFPBRC_IS_SLAVE"),
        (6, 3, "OFPET_GROUP_MOD_FAILED/OFPGMFC_OUT_OF_GROUPS"),
        (5, 1, "OFPET_FLOW_MOD_FAILED/OFPFMFC_TABLE_FULL"),
        (6, 99, "OFPET_GROUP_MOD_FAILED/99"),
        (77, 5, "error type 77, code 5"),
    ],
)
def test_errors_have_the_names_of_the_specification(package: str, error_type: int, code: int, name: str) -> None:
    assert error_name(library(package).ofproto, SimpleNamespace(type=error_type, code=code)) == name


@frameworks
def test_errors_of_bundles_are_named(package: str) -> None:
    error = SimpleNamespace(type=0xFFFF, exp_type=2315, experimenter=0x4F4E4600)
    assert error_name(library(package).ofproto, error) == "OFPET_EXPERIMENTER/ONFERR_ET_BUNDLE_IN_PROGRESS"


@frameworks
def test_a_controller_that_stood_by_is_sent_probes_and_removals_once_it_is_master(package: str) -> None:
    connection = library(package)
    message, ofproto = Messages(connection).reports_of_ports(), connection.ofproto
    assert (message.packet_in_mask[0] >> ofproto.OFPR_ACTION & 1, message.packet_in_mask[1]) == (1, 0)
    assert (message.flow_removed_mask[0] >> ofproto.OFPRR_DELETE & 1, message.flow_removed_mask[1]) == (1, 0)
    assert message.port_status_mask[0] == message.port_status_mask[1] == 0b111
