"""Entries of others that take packets of ours are named, and no others."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest

from kuijia_app.control.foreign_entries import DefeatingEntries, defeat
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.sliced_work import at_once
from kuijia_app.control.snapshot import ForeignEntry
from kuijia_app.tables.identifiers import DROP_GROUP, LINK_PROBE_COOKIE
from kuijia_app.tables.rules import FlowEntry, Match, Output, PopLabel, ToGroup

MOST_NAMED = 16
DATA_PRIORITY, MISS_PRIORITY, TUNNEL_PRIORITY = 100, 0, 300

NETWORK = IPv4Network("10.0.4.0/24")
INGRESS = FlowEntry(DATA_PRIORITY, Match(1, 0x0800, NETWORK), (ToGroup(0x10000004),))
TRANSIT = FlowEntry(TUNNEL_PRIORITY, Match(2, 0x8847, mpls_label=16, mpls_tc=0), (PopLabel(), Output(1)))
MISS = FlowEntry(MISS_PRIORITY, Match(), (ToGroup(DROP_GROUP),))
OWN = {FlowKey.of(entry): entry for entry in (INGRESS, TRANSIT, MISS)}


def found(*keys: FlowKey) -> list[FlowKey]:
    search = DefeatingEntries([ForeignEntry(0, key) for key in keys], OWN)
    at_once(search.steps())
    return [entry.key for entry in search.found]


@pytest.mark.parametrize(
    "key",
    [
        FlowKey(0, 400, Match(eth_type=0x0800)),
        FlowKey(0, DATA_PRIORITY, Match(eth_type=0x0800, ipv4_dst=IPv4Network("10.0.0.0/8"))),
        FlowKey(0, 400, Match(eth_type=0x0800, ipv4_dst=IPv4Network("10.0.4.7/32"))),
        FlowKey(0, 400, (("in_port", 1), ("eth_type", 0x0800), ("ipv4_src", ("10.0.1.0", "255.255.255.0")))),
        FlowKey(0, 400, (("eth_type", 0x0800), ("ipv4_dst", ("10.0.0.4", "255.0.0.255")))),
        FlowKey(0, 400, (("in_port", 1), ("vlan_vid", (0x1000, 0x1000)))),
        FlowKey(0, 301, Match(mpls_label=16, eth_type=0x8847)),
    ],
)
def test_an_entry_that_takes_packets_of_ours_defeats_them(key: FlowKey) -> None:
    assert found(key) == [key]


@pytest.mark.parametrize(
    "key",
    [
        FlowKey(0, DATA_PRIORITY - 1, Match(eth_type=0x0800)),
        FlowKey(0, 400, Match(eth_type=0x0806)),
        FlowKey(0, 400, Match(in_port=9)),
        FlowKey(1, 400, Match(eth_type=0x0800)),
        FlowKey(0, 400, Match(eth_type=0x0800, ipv4_dst=IPv4Network("10.0.5.0/24"))),
        FlowKey(0, 400, (("in_port", 1), ("eth_type", 0x0800), ("ipv4_dst", ("10.0.5.0", "255.255.255.0")))),
        FlowKey(0, 400, (("eth_type", 0x0800), ("ipv4_dst", ("10.0.4.4", "255.0.255.255")), ("in_port", 2))),
        FlowKey(0, 200, Match(mpls_label=16, eth_type=0x8847)),
        FlowKey(0, 400, Match(mpls_label=17, eth_type=0x8847)),
    ],
)
def test_an_entry_that_takes_no_packet_of_ours_is_not_named(key: FlowKey) -> None:
    assert found(key) == []


def test_only_so_many_are_named_those_of_the_greatest_priority_first() -> None:
    keys = [FlowKey(0, 400 + number, Match(eth_type=0x0800)) for number in range(MOST_NAMED + 5)]
    assert found(*keys) == keys[:4:-1]


def test_the_finding_says_which_entry_and_how_it_is_deleted() -> None:
    finding = defeat("s1", ForeignEntry(5, FlowKey(0, 400, Match(1, 0x0800, NETWORK))))
    named = "table=0,priority=400,ip,in_port=1,nw_dst=10.0.4.0/24"
    assert f"{named}, cookie 0x5" in finding.text
    assert f"--strict del-flows BRIDGE '{named}'" in finding.what_to_do


def test_the_entries_that_catch_probes_are_not_those_of_others() -> None:
    key = FlowKey(0, 400, Match(eth_type=0x0800))
    search = DefeatingEntries([ForeignEntry(LINK_PROBE_COOKIE, key)], OWN, (LINK_PROBE_COOKIE,))
    at_once(search.steps())
    assert search.found == []
