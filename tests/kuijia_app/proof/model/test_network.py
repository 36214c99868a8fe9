"""The model network: ways of packets, failures and their detection."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_app.proof.expectation import expected_traffic
from kuijia_app.proof.model.network import End, Hop, ModelNetwork, Walk, arrives
from kuijia_app.proof.model.packet import Label, VlanTag
from kuijia_app.proof.model.switch import ModelForwarding
from kuijia_app.proof.verification import entering_packet
from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.options import Liveness, PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_base.errors import UnsoundError
from te_solver.model.failures import NO_FAILURE, Failure
from te_solver.model.plan import Plan
from tests.kuijia_app.plans import motivation_plan, plans

T1_CUT = Failure("s2-s4", (("s2", "s4"),))


def network(plan: Plan, liveness: Liveness = Liveness.CONTROLLER) -> ModelNetwork:
    return ModelNetwork(plan, build_tables(plan, PipelineOptions(liveness=liveness)), liveness)


@pytest.mark.parametrize("liveness", list(Liveness))
def test_a_victim_takes_its_backup_in_the_victim_queue_and_comes_back_after_healing(liveness: Liveness) -> None:
    plan = motivation_plan()
    model = network(plan, liveness)
    (to_s4, *_) = expected_traffic(plan, PipelineOptions())
    packet = entering_packet(model, to_s4, 0)
    before = model.walk("s1", packet)
    assert (before.nodes, before.queues, before.delivered_to) == (("s1", "s2", "s4"), (1, 1, 1), ("s4", 4))
    model.fail(T1_CUT)
    after = model.walk("s1", packet)
    assert (after.nodes, after.queues, after.delivered_to) == (("s1", "s4"), (2, 2), ("s4", 4))
    model.fail(NO_FAILURE)
    assert model.walk("s1", packet) == before
    assert not model.changed


def test_without_the_controller_packets_are_lost_in_the_dead_link() -> None:
    plan = motivation_plan()
    model = ModelNetwork(plan, build_tables(plan), Liveness.BFD)
    model.fail(T1_CUT)
    (to_s4, *_) = expected_traffic(plan, PipelineOptions())
    walk = model.walk("s1", entering_packet(model, to_s4, 0))
    assert walk.end is End.LOST
    assert walk.nodes == ("s1", "s2")


def test_the_controller_empties_liveness_groups_and_bfd_takes_watched_ports_down() -> None:
    plan = motivation_plan()
    controller, bfd = network(plan), network(plan, Liveness.BFD)
    for model in (controller, bfd):
        model.fail(T1_CUT)
    emptied = [group.group_id for group in controller.switch("s1").groups.values() if not group.buckets]
    assert len(emptied) == 1
    session = BfdSessions(plan).over(("s1", "s2", "s4"))
    assert not bfd.is_live(("s1", session.watched_port))
    assert not bfd.is_live(("s4", session.watched_port))
    others = [each for each in BfdSessions(plan) if each != session]
    assert all(bfd.is_live((end, each.watched_port)) for each in others for end in ("s1", "s4"))


def test_a_session_whose_packets_do_not_arrive_is_down_although_its_links_are_up() -> None:
    plan = motivation_plan()
    session = BfdSessions(plan).over(("s1", "s2", "s4"))
    tables = build_tables(plan, PipelineOptions(liveness=Liveness.BFD))
    without = tuple(entry for entry in tables["s2"].flows if entry.match.mpls_label != session.label)
    tables["s2"] = dataclasses.replace(tables["s2"], flows=without)
    model = ModelNetwork(plan, tables, Liveness.BFD)
    assert not model.is_live(("s1", session.watched_port))
    assert not model.is_live(("s4", session.watched_port))


@pytest.mark.parametrize(
    ("header", "port", "is_there"),
    [
        ({}, 0, True),
        ({"labels": (Label(16, 6),)}, 0, False),
        ({"vlans": (VlanTag(16, 6),)}, 0, False),
        ({}, 1, False),
    ],
)
def test_a_sessions_packet_arrives_at_its_port_without_any_tag(
    header: dict[str, Any], port: int, *, is_there: bool
) -> None:
    session = BfdSessions(motivation_plan()).over(("s1", "s2", "s4"))
    packet = dataclasses.replace(network(motivation_plan()).session_packet(session), **header)
    assert packet.dscp == 48, "the traffic class of Open vSwitch's BFD: CS6"
    walk = Walk([Hop("s4", packet, ModelForwarding(), session.inner_port + port, packet)], End.LEFT)
    assert arrives(walk, "s4", session) is is_there
    assert not arrives(walk, "s1", session)


def test_a_failed_node_takes_the_ports_towards_it_down() -> None:
    model = network(motivation_plan())
    model.fail(Failure("s2", nodes=("s2",)))
    assert not model.is_live(("s1", 1))
    assert not model.is_live(("s4", 2))
    assert model.is_live(("s1", 3))


def test_a_failure_of_what_is_not_there_is_refused() -> None:
    with pytest.raises(UnsoundError, match="there is no link between 's2' and 's3'"):
        network(motivation_plan()).fail(Failure("s2-s3", (("s2", "s3"),)))


@settings(max_examples=25)
@given(plan=plans(), liveness=st.sampled_from(Liveness), data=st.data())
def test_a_way_that_asked_for_nothing_that_changed_is_the_same_after_the_failure(
    plan: Plan, liveness: Liveness, data: st.DataObject
) -> None:
    model = network(plan, liveness)
    edges = data.draw(st.lists(st.sampled_from(plan.topology.edges), min_size=1, max_size=3, unique=True))
    flows = [
        (traffic.source, entering_packet(model, traffic, slot))
        for traffic in expected_traffic(plan, PipelineOptions())
        for slot in ((0, 21, 42, 63) if traffic.is_split else (0,))
    ]
    before = [model.walk(*flow) for flow in flows]
    model.fail(Failure("some", tuple(edges)))
    unaffected = [walk for walk in before if model.changed.isdisjoint(walk.asked)]
    for flow, walk in zip(flows, before, strict=True):
        if walk in unaffected:
            assert model.walk(*flow) == walk
    model.fail(NO_FAILURE)
    assert [model.walk(*flow) for flow in flows] == before
