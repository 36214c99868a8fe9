"""Texts of violations, word by word."""

from __future__ import annotations

from ipaddress import IPv4Address

from kuijia_app.proof.equivalence import FIRST_TABLE_PORT
from kuijia_app.proof.model.network import End, Hop, Walk
from kuijia_app.proof.model.packet import Label, Packet, VlanTag
from kuijia_app.proof.model.switch import EntryStep, GroupStep, ModelForwarding, Step
from kuijia_app.proof.walk_text import header_text, place, sent_text, slots_text, tag_texts, way_text
from kuijia_app.tables.rules import FlowEntry, Group, GroupType, Match

PLAIN = Packet.between(1, IPv4Address("10.0.1.1"), IPv4Address("10.0.4.1"))
TAGGED = Packet(
    *(2, PLAIN.source, PLAIN.destination, 46, 1, (Label(16, 1), Label(2, 0)), 3), vlans=(VlanTag(5, 4), VlanTag(6, 0))
)


def test_a_packet_has_no_marks_unless_it_is_given_some() -> None:
    assert (PLAIN.dscp, PLAIN.ecn, PLAIN.slot) == (0, 0, 0)
    assert header_text(PLAIN) == "in port 1, dscp 0, ecn 0"


def test_tags_are_named_outermost_first() -> None:
    tags = ["vlan 5 pcp 4", "vlan 6 pcp 0", "label 16 tc 1", "label 2 tc 0"]
    assert tag_texts(TAGGED) == tags
    assert header_text(TAGGED) == f"in port 2, {', '.join(tags)}, dscp 46, ecn 1"


def test_a_place_names_the_tables_but_no_groups() -> None:
    group = Group(7, GroupType.SELECT, ())
    steps: list[Step] = [EntryStep(0, FlowEntry(1, Match(in_port=1))), GroupStep(group, None), EntryStep(4, None)]
    hop = Hop("s1", PLAIN, ModelForwarding(steps=steps), None, None)
    assert place(hop) == "s1 (table 0 entry in_port=1, table 4 no entry; in port 1, dscp 0, ecn 0)"


def test_what_is_sent_is_named_by_port_and_queue_or_by_table_and_group() -> None:
    outputs = ((1, TAGGED), (-1, PLAIN), (-8, PLAIN), (FIRST_TABLE_PORT, PLAIN), (FIRST_TABLE_PORT - 5, PLAIN))
    assert sent_text(outputs) == "port 1 queue 3, group 0, group 7, table 0, table 5"
    assert sent_text(()) == "nothing"


def test_a_way_has_a_queue_for_each_hop_or_none() -> None:
    hops = [Hop("s1", PLAIN, ModelForwarding(), 1, TAGGED), Hop("s2", PLAIN, ModelForwarding(), 2, PLAIN)]
    assert way_text(Walk(hops, End.LOST)) == "s1-s2 in queues 3,- (lost)"


def test_slots_in_a_row_are_one_range() -> None:
    assert slots_text((0, 1, 2, 5, 7, 8)) == "slots 0-2,5,7-8"
