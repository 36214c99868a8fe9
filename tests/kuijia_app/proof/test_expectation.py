"""What the proof expects, by hand: shares of slots, and the addresses and code points that it tries."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from itertools import permutations, product

import pytest

from kuijia_app.proof.expectation import Path, Treatment, expected_traffic, shares_due
from kuijia_app.proof.header_values import HeaderValues, prefix_bounds, values_told_apart, with_another
from kuijia_app.proof.model.packet import VlanTag
from kuijia_app.tables.options import OtherTraffic, PipelineOptions
from kuijia_app.tables.rules import FlowEntry, Match
from te_solver.model.failures import NO_FAILURE, Failure
from tests.kuijia_app.plans import motivation_plan
from tests.kuijia_app.tables.test_tagged_hosts import tagged

ETH_TYPE_IPV4, ETH_TYPE_MPLS = 0x0800, 0x8847

A, DIRECT, B = (Path(tuple(f"s{middle}t"), weight) for middle, weight in (("a", 0.5), ("", 0.3), ("b", 0.2)))
CUT = Failure("s-a", edges=(("a", "s"),))

Shares = dict[tuple[str, ...], tuple[float, int]]


def due(paths: tuple[Path, ...], own: Path | None, failure: Failure) -> Shares:
    return {nodes: (each.share, each.parts) for nodes, each in shares_due(paths, own, failure).items()}


@pytest.mark.parametrize(
    ("own", "failure", "expected"),
    [
        (None, NO_FAILURE, {"sat": (0.5, 1), "st": (0.3, 1), "sbt": (0.2, 1)}),
        # The promise of a dead tunnel goes to the heaviest, as a part of its own.
        (None, CUT, {"st": (0.8, 2), "sbt": (0.2, 1)}),
        (A, CUT, {"st": (0.6, 1), "sbt": (0.4, 1)}),
        (A, Failure("two", edges=(("s", "a"), ("s", "t"))), {"sbt": (1.0, 2)}),
        (B, Failure("b", nodes=("b",)), {"sat": (0.625, 1), "st": (0.375, 1)}),
    ],
)
def test_slots_are_due_by_weight_and_those_of_a_dead_promise_to_the_heaviest(
    own: Path | None, failure: Failure, expected: dict[str, tuple[float, int]]
) -> None:
    found = due((A, DIRECT, B), own, failure)
    assert found == {tuple(name): pytest.approx(share) for name, share in expected.items()}


def test_of_equally_heavy_tunnels_the_first_serves_a_dead_promise() -> None:
    equal = tuple(Path(path.nodes, 0.25) for path in (B, A, DIRECT))
    assert due((Path(tuple("sct"), 0.25), *equal), None, Failure("c", nodes=("c",)))[B.nodes] == (0.5, 2)


def test_owners_of_one_dead_way_are_rounded_each() -> None:
    light, heavy, other = Path(A.nodes, 0.1), Path(A.nodes, 0.4), Path(B.nodes, 0.5)
    # Each of two owners has its part, and so has the promise of each to the other.
    assert due((heavy, light, other), heavy, CUT)[B.nodes] == pytest.approx((1, 5))


def test_tunnels_without_weight_share_alike() -> None:
    idle = tuple(Path(path.nodes, 0.0) for path in (A, DIRECT, B))
    assert due(idle, idle[0], CUT) == {DIRECT.nodes: (0.5, 1), B.nodes: (0.5, 1)}


@pytest.mark.parametrize(
    ("failure", "survives", "begins"),
    [
        (Failure("s-a", edges=(("s", "a"),)), False, False),
        (Failure("t-a", edges=(("t", "a"),)), False, True),
        (Failure("s-t", edges=(("s", "t"),)), True, True),
        (Failure("t", nodes=("t",)), False, True),
        (Failure("a", nodes=("a",)), False, False),
        (Failure("b", nodes=("b",)), True, True),
    ],
)
def test_a_tunnel_survives_what_is_not_on_it_and_begins_while_its_first_link_is_up(
    failure: Failure, *, survives: bool, begins: bool
) -> None:
    assert (A.survives(failure), A.begins(failure)) == (survives, begins)


NET = IPv4Network("10.0.0.0/30")


def addresses(*texts: str) -> list[IPv4Address]:
    return [IPv4Address(text) for text in texts]


def test_one_address_of_each_range_is_tried_and_the_host_for_its_own() -> None:
    values = HeaderValues(bounds=frozenset(addresses("10.0.0.2", "10.0.0.4", "10.0.0.3")))
    assert list(values.addresses_in(NET, addresses("10.0.0.1"))) == addresses("10.0.0.1", "10.0.0.2", "10.0.0.3")
    assert list(values.addresses_in(NET, addresses("10.0.0.2"))) == addresses("10.0.0.2", "10.0.0.0", "10.0.0.3")
    assert list(values.addresses_in(NET, addresses("10.9.9.9"))) == addresses("10.0.0.0", "10.0.0.2", "10.0.0.3")


def test_addresses_outside_are_one_of_each_range_that_no_prefix_holds() -> None:
    values = HeaderValues(bounds=prefix_bounds([IPv4Network("10.0.0.8/30")]))
    assert list(values.addresses_outside([NET])) == [IPv4Address(0), *addresses("10.0.0.4", "10.0.0.8", "10.0.0.12")]


def test_a_prefix_has_its_first_address_and_the_one_after_its_last_if_there_is_one() -> None:
    assert prefix_bounds([NET]) == set(addresses("10.0.0.0", "10.0.0.4"))
    assert prefix_bounds([IPv4Network("255.255.255.252/30")]) == set(addresses("255.255.255.252"))


def test_values_count_that_ip_packets_of_the_port_can_meet() -> None:
    entries = [
        FlowEntry(1, Match(in_port=1, eth_type=ETH_TYPE_IPV4, ip_dscp=3, ip_ecn=1, ipv4_dst=NET)),
        FlowEntry(1, Match(ip_dscp=4, eth_type=ETH_TYPE_IPV4)),
        FlowEntry(1, Match(in_port=2, eth_type=ETH_TYPE_IPV4, ip_dscp=5, ip_ecn=2)),
        FlowEntry(1, Match(in_port=1, eth_type=ETH_TYPE_MPLS, ip_dscp=6)),
        FlowEntry(1, Match(in_port=1)),
    ]
    assert values_told_apart(entries, 1) == HeaderValues(frozenset({3, 4}), frozenset({1}), prefix_bounds([NET]))


def test_entries_that_look_at_sources_or_protocols_tell_conversations_apart() -> None:
    plain, source, protocol = (
        Match(in_port=1, eth_type=ETH_TYPE_IPV4, **fields) for fields in ({}, {"ipv4_src": NET}, {"ip_proto": 6})
    )
    found = values_told_apart([FlowEntry(1, each) for each in (plain, source, protocol)], 1)
    assert found.conversations == (source, protocol)


@pytest.mark.parametrize(
    ("values", "bits", "expected"),
    [([], 2, [0]), ([0, 1], 2, [0, 1, 2]), ([3, 0], 2, [0, 1, 3]), ([0, 1, 2, 3], 2, [0, 1, 2, 3]), ([1], 2, [0, 1])],
)
def test_a_value_that_stands_for_all_others_is_tried_if_there_is_one(
    values: list[int], bits: int, expected: list[int]
) -> None:
    assert with_another(values, bits) == expected


def test_forwarded_traffic_of_no_pair_is_not_split_and_among_the_victims_everywhere() -> None:
    options = PipelineOptions(other_traffic=OtherTraffic.FORWARD)
    others = [each for each in expected_traffic(motivation_plan(), options) if each.name == "of no pair"]
    assert {(each.source, each.target) for each in others} == {*permutations(motivation_plan().topology.nodes, 2)} - {
        ("s1", "s4"),
        ("s4", "s1"),
    }
    victims = Treatment(options.layout.classes[-1].victim.queue_id, None)
    assert all(not each.is_split and each.normal == each.moved == each.last == victims for each in others)


def test_packets_with_a_tag_are_promised_where_the_egress_need_not_look_for_the_host() -> None:
    wiring = tagged("s1")
    end = wiring.switches["s4"]
    assert end.host is not None
    learned = replace(end, host=replace(end.host, gateways=(IPv4Address("10.0.4.254"),)))
    other = replace(end.host, vlan=7, address=IPv4Address("10.9.0.1"), prefixes=(IPv4Network("10.9.0.0/24"),))
    shared = replace(end, more_hosts=(replace(other, more_addresses=()),))
    untagged, tags = {("s1", None), ("s4", None)}, []
    for egress in (end, learned, shared):
        stated = replace(wiring, switches={**wiring.switches, "s4": egress})
        found = expected_traffic(motivation_plan(), PipelineOptions(wiring=stated))
        tags.append({(each.source, each.tag) for each in found})
    assert tags == [untagged | {("s1", VlanTag(16, 1))}, untagged, untagged]


def test_where_every_code_point_and_ecn_value_is_told_apart_no_other_is_made_up() -> None:
    layout = PipelineOptions().layout
    (low, *_) = layout.classes
    every = replace(layout, classes=(replace(low, code_points=tuple({*range(64)} - {48})),))
    told = {"s1": HeaderValues(ecn=frozenset(range(4)))}
    found = list(expected_traffic(motivation_plan(), PipelineOptions(layout=every), told))
    assert {(each.code_point, each.ecn) for each in found if each.source == "s1"} == {*product(range(64), range(4))}
