"""Faults of single walks, each built by hand: one difference from the treatment due is one fault, of one rule."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from kuijia_app.proof.expectation import ExpectedTraffic, Path, expected_traffic
from kuijia_app.proof.model.network import End, Hop, Walk
from kuijia_app.proof.model.packet import Label, Packet, VlanTag
from kuijia_app.proof.model.switch import ModelForwarding
from kuijia_app.proof.walk_faults import Flow, faults, faults_after, faults_in_alarm
from kuijia_app.tables.options import PipelineOptions
from te_solver.model.failures import NO_FAILURE, Failure
from tests.kuijia_app.plans import motivation_plan

PACKET = Packet(1, IPv4Address("10.0.1.1"), IPv4Address("10.0.4.1"), queue=1)
NORMAL, VICTIMS = 1, 2
HOST_PORT = 4
"""Port of the host at s4, which has three links."""


def split_traffic() -> ExpectedTraffic:
    return next(
        each for each in expected_traffic(motivation_plan(), PipelineOptions()) if each.is_split and each.source == "s1"
    )


SPLIT = split_traffic()
UPPER, DIRECT, LOWER = SPLIT.paths


def way(nodes: str, queue: int | None = NORMAL, end: End = End.LEFT, port: int = HOST_PORT, **header: Any) -> Walk:  # noqa: ANN401  # fields of a packet
    """Return a walk in one queue whose last packet has these values; a dropped one is sent by no last switch."""
    hops = [Hop(node, PACKET, ModelForwarding(), 1, replace(PACKET, queue=queue)) for node in nodes.split()]
    sent = None if end in {End.DROPPED, End.COPIED} else replace(PACKET, queue=queue, **header)
    hops[-1] = replace(hops[-1], out_port=None if sent is None else port, sent=sent)
    return Walk(hops, end)


def rules(found: Any) -> list[str]:  # noqa: ANN401  # an iterator of pairs
    return [rule for rule, _ in found]


@pytest.mark.parametrize(
    ("walk", "expected"),
    [
        (way("s1 s2 s4"), []),
        (way("s1 s3 s4"), ["path"]),
        (way("s1 s2"), ["path", "delivered"]),
        (way("s1 s2 s4", VICTIMS), ["queue"] * 3),
        (way("s1 s2 s4", None), ["queue"] * 3),
        (way("s1 s2 s4", end=End.LOST), ["delivered"]),
        (way("s1 s2 s4", end=End.DROPPED), ["delivered"]),
        (way("s1 s2 s4", end=End.LOOPED), ["loop"]),
        (way("s1 s2 s4", end=End.COPIED), ["copy"]),
        (way("s1 s2 s4", port=HOST_PORT + 1), ["delivered"]),
        (way("s1 s2 s4", labels=(Label(16, 0),)), ["header"]),
        (way("s1 s2 s4", vlans=(VlanTag(7, 0),)), ["header"]),
        (way("s1 s2 s4", eth_type=0x86DD), ["header"]),
        (way("s1 s2 s4", eth_type=0x86DD, labels=(Label(16, 0),)), ["header"]),
        (way("s1 s2 s4", dscp=3), ["header"]),
        (way("s1 s2 s4", ecn=1), ["header"]),
    ],
)
def test_each_difference_from_what_is_due_is_a_fault(walk: Walk, expected: list[str]) -> None:
    assert rules(faults(walk, SPLIT, (UPPER, DIRECT), SPLIT.normal)) == expected


def test_a_copy_and_two_rival_entries_are_named_at_their_switch() -> None:
    walk = way("s1 s2", end=End.COPIED)
    walk.hops[-1].forwarding.sent.extend([(3, PACKET), (5, PACKET)])
    walk.hops[0].forwarding.problem = "a problem of a switch that sends nothing"
    assert [problem for _, problem in faults(walk, SPLIT, (UPPER,), SPLIT.normal)] == [
        "sent out of ports 3, 5 at s2 (; in port 1, dscp 0, ecn 0)"
    ]
    walk.hops[-1].forwarding.problem = "2 entries match"
    assert rules(faults(walk, SPLIT, (UPPER,), SPLIT.normal)) == ["ambiguous", "copy"]


def test_control_traffic_takes_the_shortest_live_tunnel_and_others_take_any() -> None:
    control = replace(SPLIT, is_split=False)
    both, long = (UPPER, DIRECT), (UPPER, LOWER)
    found = [
        rules(faults(way("s1 s2 s4"), each, paths, SPLIT.normal)) for each in (control, SPLIT) for paths in (both, long)
    ]
    assert found == [["path"], [], [], []]
    assert rules(faults(way("s1 s4"), control, both, SPLIT.normal)) == []


@pytest.mark.parametrize("nodes", ["s1 s2 s4", "s1 s2 s9"])
def test_a_way_ends_at_the_target_even_if_a_tunnel_does_not(nodes: str) -> None:
    paths = (Path(tuple(nodes.split()), 1.0),)
    assert ("path" in rules(faults(way(nodes), SPLIT, paths, SPLIT.normal))) is (nodes != "s1 s2 s4")


@pytest.mark.parametrize(
    ("vlans", "expected"),
    [
        ([(5, 0), (7, 0)], []),
        ([(5, 0)], ["header"] * 2),
        ([(7, 0), (5, 0)], ["header"] * 3),
        ([(5, 0), (7, 0), (8, 0)], ["header"]),
        ([], ["header"]),
    ],
)
def test_a_host_gets_its_sites_tag_and_its_own_inside_and_no_other(
    vlans: list[tuple[int, int]], expected: list[str]
) -> None:
    traffic = replace(SPLIT, receiver=replace(SPLIT.receiver, vlan=5), tag=VlanTag(7, 0))
    walk = way("s1 s2 s4", vlans=tuple(VlanTag(*each) for each in vlans))
    assert rules(faults(walk, traffic, (UPPER,), SPLIT.normal)) == expected


def test_traffic_is_delivered_as_sent_or_with_the_code_point_due() -> None:
    remarked = replace(SPLIT.normal, code_point=10)
    sent = replace(SPLIT, code_point=9, ecn=1)
    assert rules(faults(way("s1 s2 s4", dscp=9, ecn=1), sent, (UPPER,), SPLIT.normal)) == []
    assert rules(faults(way("s1 s2 s4", dscp=9, ecn=1), sent, (UPPER,), remarked)) == ["header"]
    assert rules(faults(way("s1 s2 s4", dscp=10), sent, (UPPER,), remarked)) == []


@pytest.mark.parametrize(
    ("walk", "expected"),
    [
        (way("s1 s2 s4"), []),
        (way("s1 s3 s4"), ["aboriginal"]),
        (way("s1 s2 s4", VICTIMS), ["aboriginal", *["queue"] * 3]),
        (way("s1 s2 s4", end=End.LOST), ["aboriginal", "delivered"]),
    ],
)
def test_traffic_of_a_live_tunnel_keeps_its_way_its_queues_and_its_end(walk: Walk, expected: list[str]) -> None:
    flow = Flow(SPLIT, (0,), way("s1 s2 s4"), UPPER)
    assert rules(faults_after(walk, flow, SPLIT.paths)) == expected


@pytest.mark.parametrize(("queue", "expected"), [(VICTIMS, []), (NORMAL, ["queue"] * 2)])
def test_traffic_of_a_dead_tunnel_is_a_victim_on_a_live_one(queue: int, expected: list[str]) -> None:
    flow = Flow(SPLIT, (0,), way("s1 s2 s4"), UPPER)
    assert rules(faults_after(way("s1 s4", queue), flow, (DIRECT, LOWER))) == expected
    assert rules(faults_after(way("s1 s4", queue), flow, (LOWER,))) == ["path", *expected]


def test_without_a_live_tunnel_a_pair_is_dropped_or_carried_as_a_victim() -> None:
    flow = Flow(SPLIT, (0,), way("s1 s2 s4"), UPPER)
    assert rules(faults_after(way("s1 s2 s4", end=End.DROPPED, queue=VICTIMS), flow, ())) == []
    assert rules(faults_after(way("s1 s2", end=End.LOST), flow, ())) == ["queue"] * 2
    assert rules(faults_after(way("s1 s2", end=End.LOOPED, queue=VICTIMS), flow, ())) == ["loop"]
    assert rules(faults_after(way("s1 s2 s4", VICTIMS), flow, ())) == ["path"]
    carried = ("s1", "s2", "s3", "s4")
    assert rules(faults_after(way("s1 s2 s3 s4", VICTIMS), flow, (), carried)) == []
    assert rules(faults_after(way("s1 s2 s4", VICTIMS), flow, (), carried)) == ["path"]
    assert rules(faults_after(way("s1 s2 s3 s4", NORMAL), flow, (DIRECT,), carried)) == ["path", *["queue"] * 4]


FIRST_CUT = Failure("s1-s2", edges=(("s1", "s2"),))
FAR_CUT = Failure("s2-s4", edges=(("s2", "s4"),))
ISOLATED = Failure("all", edges=(("s1", "s2"), ("s1", "s4"), ("s1", "s3")))


@pytest.mark.parametrize(
    ("failure", "walk", "expected"),
    [
        (NO_FAILURE, way("s1 s2 s4", VICTIMS), []),
        (NO_FAILURE, way("s1 s2 s4", NORMAL), ["queue"] * 3),
        (NO_FAILURE, way("s1 s2 s4", VICTIMS, dscp=3), ["header"]),
        # A link beyond the first may lose what was sent into a usable tunnel, and no other.
        (FAR_CUT, way("s1 s2", VICTIMS, End.LOST), []),
        (FAR_CUT, way("s1 s2", NORMAL, End.LOST), ["queue"] * 2),
        (FAR_CUT, way("s1", VICTIMS, End.LOST), ["delivered"]),
        (FAR_CUT, way("s1 s2", VICTIMS, End.DROPPED), ["delivered"]),
        (FAR_CUT, way("s1 s9", VICTIMS, End.LOST), ["delivered"]),
        (FIRST_CUT, way("s1 s2", VICTIMS, End.LOST), ["delivered"]),
        (FIRST_CUT, way("s1 s2 s4", VICTIMS), ["path"]),
        (FIRST_CUT, way("s1 s3 s4", VICTIMS), []),
        # Without any first link nothing is promised but the queue of victims, and that nothing leaves.
        (ISOLATED, way("s1", VICTIMS, End.LOST), []),
        (ISOLATED, way("s1", VICTIMS, End.DROPPED), []),
        (ISOLATED, way("s1 s4", VICTIMS), ["path"]),
    ],
)
def test_in_an_alarm_first_links_alone_decide(failure: Failure, walk: Walk, expected: list[str]) -> None:
    assert rules(faults_in_alarm(walk, SPLIT, failure)) == expected
