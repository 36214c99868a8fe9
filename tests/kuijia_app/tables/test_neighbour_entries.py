"""Sites whose hosts are learned: their tables, their proof, and what a wiring file says of them."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import product
from pathlib import Path

import pytest

from kuijia_app.proof.verification import Verifier
from kuijia_app.tables.identifiers import GATEWAY_PRIORITY, MEASURED_PRIORITY, NEAR_PRIORITY
from kuijia_app.tables.neighbours import (
    LINK_LOCAL_GATEWAY,
    Segment,
    meters_of,
    segments_of,
    standing_entries,
)
from kuijia_app.tables.ofctl_text import flow_text
from kuijia_app.tables.options import Form, Liveness, OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import Match
from kuijia_app.tables.stated_wiring import StatedWiring, stated
from kuijia_app.tables.wiring import Neighbours, Wiring, default_gateway
from kuijia_app.tables.wiring_file import load_wiring, wiring_text
from kuijia_base.errors import InputError
from te_solver.model.failures import single_links
from te_solver.model.plan import Plan
from tests.kuijia_app.plans import motivation_plan

HOST_TABLE, LAST_PORT = 3, 0xFEFF

PLAN = motivation_plan()


def with_gateways(plan: Plan = PLAN) -> StatedWiring:
    return stated(Wiring(plan.topology, neighbours=Neighbours.LEARNED))


def forms() -> list[PipelineOptions]:
    return [
        PipelineOptions(form=form, tagging=tagging, liveness=liveness, other_traffic=other)
        for form, tagging, liveness, other in product(Form, Tagging, Liveness, OtherTraffic)
        if other is OtherTraffic.DROP or tagging is Tagging.MPLS
    ]


@pytest.mark.parametrize("options", forms())
def test_tables_are_proved_for_hosts_that_are_learned(options: PipelineOptions) -> None:
    learned = replace(options, neighbours=Neighbours.LEARNED)
    found = Verifier(PLAN, build_tables(PLAN, learned), learned).run(single_links(PLAN.topology))
    assert not found.violations


def test_the_proof_notices_an_egress_that_does_not_lead_to_its_hosts() -> None:
    options = PipelineOptions(neighbours=Neighbours.LEARNED)
    tables = build_tables(PLAN, options)
    broken = tuple(replace(entry, goto_table=None) for entry in tables["s4"].flows)
    tables["s4"] = replace(tables["s4"], flows=broken)
    assert not Verifier(PLAN, tables, options).run(single_links(PLAN.topology)).is_sound


@pytest.mark.parametrize("options", forms())
def test_static_neighbours_and_wirings_without_gateways_have_the_same_tables(options: PipelineOptions) -> None:
    usual = build_tables(PLAN, options)
    assert build_tables(PLAN, replace(options, neighbours=Neighbours.STATIC)) == usual
    assert build_tables(PLAN, replace(options, wiring=with_gateways(), neighbours=Neighbours.STATIC)) == usual
    assert build_tables(PLAN, replace(options, wiring=with_gateways())) != usual


def test_hosts_see_the_gateway_of_their_prefix_or_else_any_and_only_ipv6_has_one_that_is_not_stated() -> None:
    prefixes = (IPv4Network("10.1.0.0/16"), IPv4Network("10.2.0.0/16"), IPv6Network("2001:db8::/64"))
    near, other = IPv4Address("10.2.0.1"), IPv4Address("10.1.0.1")
    segment = Segment("s1", (1,), prefixes, gateways=(other, near))
    assert segment.gateway_for(IPv4Address("10.2.0.9")) == near
    assert segment.gateway_for(IPv4Address("192.0.2.1")) == other
    assert segment.gateway_for(IPv6Address("2001:db8::9")) == LINK_LOCAL_GATEWAY
    asked = (near, other, IPv4Address("10.2.0.9"), LINK_LOCAL_GATEWAY)
    assert [segment.is_gateway(address) for address in asked] == [True, True, False, True]
    of_ipv4 = replace(segment, prefixes=prefixes[:2], gateways=())
    assert of_ipv4.gateway_for(IPv4Address("10.2.0.9")) is None
    assert not of_ipv4.is_gateway(LINK_LOCAL_GATEWAY)


def test_all_that_leaves_a_tunnel_meets_the_table_of_hosts() -> None:
    options = PipelineOptions(neighbours=Neighbours.LEARNED)
    texts = [flow_text(entry) for entry in build_tables(PLAN, options)["s4"].flows]
    ends = [text for text in texts if "pop_mpls" in text]
    assert ends
    assert all(text.endswith(f"goto_table:{HOST_TABLE}") for text in ends)


@pytest.mark.parametrize(
    ("prefix", "host", "gateway"),
    [
        ("10.1.0.0/16", "10.1.2.3", "10.1.0.1"),
        ("10.1.0.0/16", "10.1.0.1", "10.1.255.254"),
        ("10.0.0.0/30", "10.0.0.1", "10.0.0.2"),
        ("10.0.0.0/31", "10.0.0.0", "10.0.0.1"),
        ("10.0.0.7/32", "10.0.0.7", None),
    ],
)
def test_a_gateway_is_the_first_address_or_the_last_if_a_host_has_the_first(
    prefix: str, host: str, gateway: str | None
) -> None:
    found = default_gateway(IPv4Network(prefix), [IPv4Address(host)])
    assert found == (None if gateway is None else IPv4Address(gateway))


FILE = """
version: 1
switches:
  a:
    datapath_id: "0x2a"
    links: {b: 1}
    host: {port: [3, 4], prefixes: [10.1.0.0/24, 10.2.0.0/16], gateway: 10.1.0.1, router: 10.1.0.7}
  b:
    datapath_id: "0x2b"
    links: {a: 1}
    host: {port: 2, prefixes: [10.9.0.0/24], address: 10.9.0.5, gateway: [10.9.0.1, 10.9.0.254]}
"""


def test_a_wiring_file_states_ports_gateways_and_router(tmp_path: Path) -> None:
    path = tmp_path / "wiring.yaml"
    path.write_text(FILE)
    wiring = load_wiring(path)
    a, b = (wiring.switches[name].host for name in "ab")
    assert a is not None
    assert b is not None
    assert a.ports == (3, 4)
    assert (a.gateways, a.router) == ((IPv4Address("10.1.0.1"),), IPv4Address("10.1.0.7"))
    assert a.address == IPv4Address("10.1.0.2"), "the gateway has the first"
    assert b.gateways == (IPv4Address("10.9.0.1"), IPv4Address("10.9.0.254"))
    path.write_text(wiring_text(wiring))
    assert load_wiring(path).switches == wiring.switches


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("gateway: 10.1.0.1,", "gateway: 10.3.0.1,", "in none of its prefixes"),
        ("gateway: 10.1.0.1, router: 10.1.0.7", "router: 10.1.0.7", "several ports"),
        ("router: 10.1.0.7", "router: 10.1.0.1", "also the gateway"),
        ("router: 10.1.0.7", "router: 192.0.2.1", "in none of its prefixes"),
        ("address: 10.9.0.5", "address: 10.9.0.1", "also the gateway's"),
        ("port: [3, 4]", "port: [3, 1]", "also the one"),
        ("port: [3, 4]", "port: []", "port"),
        ("port: [3, 4]", "port: [3, 3]", "also the one"),
        ("gateway: [10.9.0.1, 10.9.0.254]", "gateway: []", "gateway"),
        ("gateway: [10.9.0.1, 10.9.0.254]", "gateway: {x: 1}", "gateway"),
        ("gateway: [10.9.0.1, 10.9.0.254]", "router: 10.9.0.7", "without a gateway"),
        ("gateway: [10.9.0.1, 10.9.0.254]", "gateway: 10.9.0.255", "no host's in 10.9.0.0/24"),
        ("gateway: [10.9.0.1, 10.9.0.254]", "gateway: 10.9.0.0", "no host's in 10.9.0.0/24"),
        ("router: 10.1.0.7", "router: 10.1.0.255", "no host's in 10.1.0.0/24"),
        ("prefixes: [10.9.0.0/24], address: 10.9.0.5", "prefixes: [10.9.0.1/32, 10.9.0.254/32]", "no address is left"),
        ("prefixes: [10.9.0.0/24]", "prefixes: [10.9.0.0/24, 224.1.0.0/16]", "never routed"),
        ("prefixes: [10.9.0.0/24]", "prefixes: [10.9.0.0/24, 127.0.0.0/8]", "never routed"),
        ("prefixes: [10.9.0.0/24]", "prefixes: [10.9.0.0/24, 240.0.0.0/8]", "never routed"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path: Path, before: str, after: str, problem: str) -> None:
    path = tmp_path / "wiring.yaml"
    assert before in FILE
    path.write_text(FILE.replace(before, after))
    with pytest.raises(InputError, match=problem):
        load_wiring(path)


def test_hosts_of_ipv4_ask_for_their_gateway_by_arp_and_those_of_ipv6_in_groups_of_neighbour_discovery() -> None:
    of_ipv4 = Segment("s1", (1,), (IPv4Network("10.1.0.0/16"),), gateways=())
    of_ipv6 = replace(of_ipv4, prefixes=(IPv6Network("2001:db8::/64"),))
    asked = [
        [each.entry.match for each in standing_entries(segment) if each.entry.priority == GATEWAY_PRIORITY]
        for segment in (of_ipv4, of_ipv6)
    ]
    groups = (IPv6Network("ff02::1:ff00:0/104"), IPv6Network("ff02::1"), IPv6Network(LINK_LOCAL_GATEWAY))
    assert asked == [[Match(in_port=1, eth_type=0x0806)], [Match.to(group, in_port=1) for group in groups]]


def test_packets_are_measured_only_if_a_length_is_stated_and_before_all_that_leads_over_links() -> None:
    (segment, *_) = segments_of(Wiring(PLAN.topology, neighbours=Neighbours.LEARNED))
    standing = list(standing_entries(segment, 1496))
    assert [each for each in standing if not each.measures] == list(standing_entries(segment))
    measure = "set_field:2->metadata,check_pkt_larger(1510)->OXM_OF_METADATA[0],resubmit(,0)"
    assert sorted(flow_text(each.entry).partition("priority=")[2] for each in standing if each.measures) == [
        "230,in_port=4,dl_dst=02:4b:55:49:4a:47,metadata=3,actions=CONTROLLER:65535",
        f"230,ip,in_port=4,dl_dst=02:4b:55:49:4a:47,metadata=0,actions={measure}",
        "240,ip,in_port=4,nw_dst=10.0.1.0/24,dl_dst=02:4b:55:49:4a:47,actions=goto_table:3",
    ]
    tables = build_tables(PLAN, PipelineOptions(neighbours=Neighbours.LEARNED))
    assert all(each.match.metadata is None for its in tables.values() for each in its.flows)
    from_hosts = {each.priority for each in tables[segment.switch].flows if each.match.in_port in segment.ports}
    assert max(from_hosts) < MEASURED_PRIORITY < NEAR_PRIORITY < GATEWAY_PRIORITY


@pytest.mark.parametrize("mtu", [None, 1496])
def test_only_what_goes_to_the_controller_is_metered_by_its_port(mtu: int | None) -> None:
    (segment, *_) = segments_of(Wiring(PLAN.topology, neighbours=Neighbours.LEARNED))
    standing = list(standing_entries(segment, mtu))
    assert {each.meter for each in standing if "CONTROLLER" in flow_text(each.entry)} == set(meters_of(segment))
    assert {each.meter for each in standing if "CONTROLLER" not in flow_text(each.entry)} == {None}
    from_hosts, from_tunnels = (
        {each.meter for each in standing if (each.entry.match.in_port is None) is tunnels and each.meter is not None}
        for tunnels in (False, True)
    )
    assert from_hosts == set(segment.ports)
    assert min(from_tunnels) > LAST_PORT
    assert len({(each.entry.table_id, each.entry.priority, each.entry.match) for each in standing}) == len(standing)
