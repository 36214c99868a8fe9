"""Fate of every kind of packet that hosts send, in a real Open vSwitch, as docs/data_plane.md states it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kuijia_app.tables.options import OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from testbed.crosscheck.dummy_switches import DummyBridges
from tests.kuijia_app.plans import motivation_plan

DROP_PRIORITY = 10

pytestmark = pytest.mark.ovs

PAGE = Path(__file__).resolve().parents[3] / "docs" / "data_plane.md"
TO_S4 = "nw_src=10.0.1.1,nw_dst=10.0.4.1"

KINDS = {
    "TCP, UDP, ICMP and other IP to a site of a planned pair": [
        f"{protocol},{TO_S4},nw_ttl=64" for protocol in ("tcp", "udp", "icmp", "ip,nw_proto=47")
    ],
    "fragments": [f"udp,nw_frag=first,{TO_S4},nw_ttl=64", f"udp,nw_frag=later,{TO_S4},nw_ttl=64"],
    "sources outside the site's prefixes": ["udp,nw_src=192.0.2.1,nw_dst=10.0.4.1,nw_ttl=64"],
    "TTL of 1": [f"udp,{TO_S4},nw_ttl=1"],
    "one VLAN tag": [f"dl_vlan=5,udp,{TO_S4},nw_ttl=64"],
    "to a site without a planned pair": ["udp,nw_src=10.0.1.1,nw_dst=10.0.2.1,nw_ttl=64"],
    "to the own site, or addresses of none": [
        "udp,nw_src=10.0.1.1,nw_dst=10.0.1.2,nw_ttl=64",
        "udp,nw_src=10.0.1.1,nw_dst=203.0.113.1,nw_ttl=64",
    ],
    "multicast, broadcast, DHCP": [
        "udp,dl_dst=01:00:5e:00:00:05,nw_src=10.0.1.1,nw_dst=224.0.0.5,nw_ttl=1",
        "udp,dl_dst=ff:ff:ff:ff:ff:ff,nw_src=0.0.0.0,nw_dst=255.255.255.255,nw_ttl=64",
    ],
    "ARP": ["arp,arp_op=1,arp_spa=10.0.1.1,arp_tpa=10.0.1.254"],
    "IPv6": ["udp6,ipv6_src=2001:db8::1,ipv6_dst=2001:db8::2,nw_ttl=64"],
    "QinQ": ["dl_vlan=5,dl_type=0x8100"],
    "MPLS labels of hosts": ["mpls,mpls_label=16,mpls_tc=0,mpls_ttl=64,mpls_bos=1"],
    "LLDP, PPPoE": ["dl_type=0x88cc,dl_dst=01:80:c2:00:00:0e", "dl_type=0x8863", "dl_type=0x8864"],
}
"""First column of the page's table to packets in the syntax of ovs-fields(7), as the host of s1 sends them."""

TAGGED = "one VLAN tag"
NO_PAIR = "to a site without a planned pair"


def rows() -> dict[str, tuple[str, str]]:
    """Return the page's table: the kind, and its fate under `drop` and `forward`."""
    section = PAGE.read_text(encoding="utf-8").split("## What hosts send")[1]
    found = re.findall(r"^\| ([^|]+) \| (carried|dropped)[^|]* \| (carried|dropped)[^|]* \|", section, re.MULTILINE)
    return {kind: (drop, forward) for kind, drop, forward in found}


@pytest.fixture(scope="module", params=[(tagging, other) for tagging in Tagging for other in OtherTraffic], ids=str)
def switches(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Tagging, OtherTraffic, DummyBridges]]:
    tagging, other = request.param
    if (tagging, other) == (Tagging.DSCP_ECN, OtherTraffic.FORWARD):
        pytest.skip("refused")
    plan = motivation_plan()
    with DummyBridges(plan, tmp_path_factory.mktemp("ovs")) as bridges:
        bridges.install(build_tables(plan, PipelineOptions(tagging=tagging, other_traffic=other)))
        yield tagging, other, bridges


def test_the_page_has_a_row_for_each_kind() -> None:
    assert list(rows()) == list(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_packet_is_carried_or_dropped_as_the_page_says(
    kind: str, switches: tuple[Tagging, OtherTraffic, DummyBridges]
) -> None:
    tagging, other, bridges = switches
    drop, forward = rows()[kind]
    fate = forward if other is OtherTraffic.FORWARD else drop
    if (tagging, kind) == (Tagging.VLAN, TAGGED):
        fate = "dropped"  # as the row says in words
    for packet in KINDS[kind]:
        traced = bridges.ovs.appctl("ofproto/trace", bridges.bridge("s1"), f"in_port=4,dp_hash=0x1,{packet}")
        dropped = f"in_port=4, priority {DROP_PRIORITY}," in traced
        assert dropped == traced.strip().endswith("Datapath actions: drop") == (fate == "dropped"), traced
        assert "dec_ttl" not in traced


def test_a_dropped_packet_is_counted(switches: tuple[Tagging, OtherTraffic, DummyBridges]) -> None:
    *_, bridges = switches
    ends = "in_port(1),eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x0800)"
    tcp = "proto=6,tos=0,ttl=64,frag=no),tcp(src=1,dst=5001),tcp_flags(2)"
    stray = f"{ends},ipv4(src=10.0.1.1,dst=203.0.113.1,{tcp}"
    bridges.ovs.appctl("netdev-dummy/receive", bridges.interface("s1", 4), stray, stray, stray)
    bridges.ovs.appctl("revalidator/wait")
    bridges.ovs.appctl("revalidator/purge")
    entries = bridges.ovs.ofctl("dump-flows", bridges.bridge("s1"), "in_port=4").splitlines()
    (entry,) = (each for each in entries if f"priority={DROP_PRIORITY}," in each)
    assert "n_packets=3," in entry
