"""Packets that tell two pipelines apart, counted by hand, and what the proof makes of tables that both have."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from itertools import product

import pytest

from kuijia_app.proof.equivalence import FIRST_TABLE_PORT, first_difference, packet_kinds
from kuijia_app.proof.model.packet import Label, Packet, Transport, VlanTag
from kuijia_app.tables.rules import ANY_VLAN, FlowEntry, Match, Output, PopLabel, PopVlan, SetDscp, ToGroup

IPV4, IPV6, MPLS, TCP = 0x0800, 0x86DD, 0x8847, 6
ANYTHING = Match()
OUT = (Output(2),)


def kinds(*matches: Match) -> list[Packet]:
    found = list(packet_kinds([FlowEntry(1, each, OUT) for each in matches]))
    assert len({*found}) == len(found)
    return found


def test_each_field_has_the_values_asked_for_in_packets_that_an_entry_may_match_and_another_one() -> None:
    found = {(each.in_port, each.eth_type, len(each.labels), each.dscp) for each in kinds(Match(1, IPV4, ip_dscp=3))}
    others = {(port, eth_type, 0, 0) for port, eth_type in product((0, 1), (0, IPV4))}
    assert found == others | {(0, IPV4, 1, 0), (1, IPV4, 1, 0), (1, IPV4, 0, 3)}


def test_labels_are_combined_and_ipv6_lies_under_two_if_an_entry_looks_at_the_bottom_of_the_stack() -> None:
    one = Match(eth_type=MPLS, mpls_label=16, mpls_tc=1)
    tags = [Label(*each) for each in product((0, 16), (0, 1))]
    assert [each.labels for each in kinds(one) if each.labels] == [(tag,) for tag in tags]
    found = kinds(one, Match(eth_type=MPLS, mpls_bos=0))
    assert [each.labels for each in found if each.labels] == [
        *((tag,) for tag in tags),
        *((tag, Label(2, 0)) for tag in tags),
    ]
    assert {each.eth_type for each in found if len(each.labels) == 2} == {IPV6}


def test_addresses_lie_at_the_ends_of_prefixes_and_ports_with_their_protocol() -> None:
    net = IPv4Network("10.0.0.0/30")
    found = [each for each in kinds(Match(eth_type=IPV4, ipv4_src=net, ip_proto=TCP, tcp_dst=80)) if not each.labels]
    ends = [IPv4Address(0), IPv4Address("10.0.0.0"), IPv4Address("10.0.0.4")]
    transports = [Transport(0, 0, 0), Transport(TCP, 0, 0), Transport(TCP, 0, 80)]
    of_ipv4 = [(each.source, each.transport) for each in found if each.eth_type == IPV4]
    assert of_ipv4 == [*product(ends, transports)]
    assert {each.destination for each in found} == {IPv4Address(0)}


def test_tags_are_those_asked_for_another_one_and_none() -> None:
    found = [each.vlans for each in kinds(Match(in_port=1, eth_type=IPV4, vlan_vid=5)) if each.in_port]
    assert found == [(), (), *((VlanTag(vid, 0),) for vid in (1, 5)), ()]
    found = [each.vlans for each in kinds(Match(in_port=1, eth_type=IPV4, vlan_vid=ANY_VLAN)) if each.in_port]
    assert found == [(), (), (VlanTag(1, 0),), ()], "no entry asks for tags of other EtherTypes"


@pytest.mark.parametrize("vlan", [5, 1])
def test_a_tag_that_no_entry_asks_for_is_treated_alike(vlan: int) -> None:
    own = FlowEntry(2, Match(in_port=1, vlan_vid=vlan), (Output(3),))
    difference = first_difference([own, FlowEntry(1, ANYTHING, (PopVlan(), *OUT))], [own, FlowEntry(1, ANYTHING, OUT)])
    assert difference is not None
    assert [tag.vid for tag in difference.packet.vlans] not in ([], [vlan])


def test_a_later_table_of_both_must_get_the_same_packet_from_both() -> None:
    last = FlowEntry(1, ANYTHING, OUT, table_id=4)
    common = [FlowEntry(1, ANYTHING, (), table_id=3, goto_table=4), last]
    plain = FlowEntry(1, ANYTHING, goto_table=3)
    marked = FlowEntry(1, ANYTHING, (SetDscp(5),), goto_table=3)
    assert first_difference([plain, *common], [plain, *common]) is None
    difference = first_difference([plain, *common], [marked, *common])
    assert difference is not None
    assert [(port, sent.dscp) for port, sent in difference.one + difference.other] == [
        (FIRST_TABLE_PORT - 3, 0),
        (FIRST_TABLE_PORT - 3, 5),
    ]
    # Table 3 is examined itself where it leads to a table that differs.
    other = FlowEntry(1, ANYTHING, (Output(7),), table_id=4)
    difference = first_difference([plain, *common], [plain, common[0], other])
    assert difference is not None
    assert [port for port, _ in difference.one + difference.other] == [2, 7]


def test_a_group_stands_for_what_it_does_unless_it_drops() -> None:
    one, other = FlowEntry(1, ANYTHING, (ToGroup(7),)), FlowEntry(1, ANYTHING, (ToGroup(8),))
    difference = first_difference([one], [other])
    assert difference is not None
    assert [port for port, _ in difference.one + difference.other] == [-8, -9]
    assert first_difference([one], [FlowEntry(1, ANYTHING)], empty_groups={7}) is None


def test_under_a_label_all_fields_count_if_a_label_is_popped_between_tables() -> None:
    below = FlowEntry(1, Match(eth_type=IPV4, ip_dscp=3), OUT, table_id=1)
    for entry, expected in (
        (FlowEntry(1, ANYTHING, goto_table=1), {0}),
        (FlowEntry(1, ANYTHING, (PopLabel(),), goto_table=1), {0, 3}),
    ):
        assert {each.dscp for each in packet_kinds([entry, below]) if each.labels} == expected
