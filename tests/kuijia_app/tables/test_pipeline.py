"""The tables of a plan: those of the paper's figure 2, and invariants for any plan."""

from __future__ import annotations

import dataclasses
from ipaddress import IPv4Network

import pytest
from hypothesis import given

from kuijia_app.tables import identifiers
from kuijia_app.tables.other_traffic import drop_entry
from kuijia_app.tables.pipeline import PipelineOptions, build_tables, liveness_group
from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_app.tables.routes import directions
from kuijia_app.tables.rules import (
    Bucket,
    FlowEntry,
    Group,
    GroupType,
    Match,
    Output,
    PopLabel,
    PushLabel,
    SetQueue,
    SwitchTables,
    ToGroup,
)
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import UnsoundError
from te_solver.model.plan import Plan
from te_solver.schemes.failure_scheme import FailureScheme
from te_solver.schemes.shipped.kuijia import KUIJIA
from te_solver.schemes.shipped.rescaling import RESCALING
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of, plans

T1, T2, T3 = 16, 17, 18


def groups_by_id(tables: SwitchTables) -> dict[int, Group]:
    return {group.group_id: group for group in tables.groups}


def failover_labels(group: Group) -> list[tuple[int, int, int]]:
    """Return (label, traffic class, queue) of every tunnel of a fast-failover group, in order."""
    result = []
    *tunnels, last_resort = group.buckets
    assert last_resort.actions == (ToGroup(last_resort.watch_group or 0),)
    for bucket in tunnels:
        push, queue, _ = bucket.actions
        assert isinstance(push, PushLabel)
        assert isinstance(queue, SetQueue)
        result.append((push.label, push.traffic_class, queue.queue_id))
    return result


def test_an_intermediate_switch_has_an_entry_per_queue_and_direction() -> None:
    entries = build_tables(motivation_plan())["s3"].flows
    to_s1, to_s4 = 1, 2
    expected = [
        FlowEntry(
            identifiers.TUNNEL_PRIORITY,
            Match(in_port=in_port, eth_type=0x8847, mpls_label=T3, mpls_tc=traffic_class),
            (SetQueue(queue_id), Output(out_port)),
        )
        for in_port, out_port in ((to_s1, to_s4), (to_s4, to_s1))
        for queue_id, traffic_class in ((0, 6), (1, 0), (2, 1))
    ]
    assert list(entries) == [*expected, drop_entry(host_port=3)]


def test_the_egress_pops_and_delivers_to_its_host() -> None:
    entries = build_tables(motivation_plan())["s4"].flows
    victim = Match(in_port=1, eth_type=0x8847, mpls_label=T2, mpls_tc=1)
    (entry,) = [entry for entry in entries if entry.match == victim]
    assert entry.actions == (PopLabel(), SetQueue(2), Output(4))


def test_the_ingress_splits_by_destination_prefix() -> None:
    plan = motivation_plan()
    entries = build_tables(plan)["s1"].flows
    data = Match(in_port=4, eth_type=0x0800, ipv4_dst=IPv4Network("10.0.4.0/24"))
    (entry,) = [entry for entry in entries if entry.match == data]
    assert entry.actions == (ToGroup(identifiers.split_group(4, 0)),)


def test_victims_of_each_tunnel_are_tagged_low_on_their_backups_under_kuijia() -> None:
    groups = groups_by_id(build_tables(motivation_plan())["s1"])
    assert failover_labels(groups[identifiers.failover_group(T1, 1, 0)]) == [(T1, 0, 1), (T2, 1, 2), (T3, 1, 2)]
    assert failover_labels(groups[identifiers.failover_group(T1, 2, 0)]) == [(T1, 0, 1), (T3, 1, 2), (T2, 1, 2)]


def test_rescaling_is_the_same_machine_without_the_tag_and_the_low_queue() -> None:
    kuijia = build_tables(motivation_plan(), PipelineOptions(KUIJIA))
    rescaling = build_tables(motivation_plan(), PipelineOptions(RESCALING))

    def demoted_as_normal(bucket: Bucket) -> Bucket:
        actions = tuple(
            PushLabel(action.label, 0)
            if isinstance(action, PushLabel) and action.traffic_class == 1
            else SetQueue(1)
            if action == SetQueue(2)
            else action
            for action in bucket.actions
        )
        return dataclasses.replace(bucket, actions=actions)

    wiring = Wiring(motivation_plan().topology)
    for switch, tables in kuijia.items():
        other = {"s1": "s4"}.get(switch, "s1")
        expected = tuple(
            group
            if group.group_id == identifiers.last_resort_group(wiring.number(other), 0)
            else dataclasses.replace(group, buckets=tuple(map(demoted_as_normal, group.buckets)))
            for group in tables.groups
        )
        assert rescaling[switch].groups == expected
        assert rescaling[switch].flows == tables.flows


def test_control_traffic_takes_the_shortest_alive_tunnel_in_queue_zero() -> None:
    groups = groups_by_id(build_tables(motivation_plan())["s1"])
    assert failover_labels(groups[identifiers.control_group(4)]) == [(T2, 6, 0), (T1, 6, 0), (T3, 6, 0)]


@pytest.mark.parametrize("scheme", [KUIJIA, RESCALING])
def test_traffic_without_a_live_tunnel_takes_the_heaviest_one_whose_first_link_is_up_as_a_victim(
    scheme: FailureScheme,
) -> None:
    groups = groups_by_id(build_tables(motivation_plan(), PipelineOptions(scheme))["s1"])
    last_resort = identifiers.last_resort_group(4, 0)
    for primary, backup in ((T1, 1), (T1, 2), (T3, 0)):
        last = groups[identifiers.failover_group(primary, backup, 0)].buckets[-1]
        assert last == Bucket((ToGroup(last_resort),), watch_group=last_resort)
    assert groups[last_resort].buckets == tuple(
        Bucket((PushLabel(label, 1), SetQueue(2), Output(port)), watch_port=port)
        for label, port in ((T1, 1), (T2, 3), (T3, 2))
    )


def test_control_traffic_without_a_live_tunnel_stays_control() -> None:
    groups = groups_by_id(build_tables(motivation_plan())["s1"])
    last_resort = identifiers.control_last_resort_group(4)
    assert groups[identifiers.control_group(4)].buckets[-1].watch_group == last_resort
    assert groups[last_resort].buckets == tuple(
        Bucket((PushLabel(label, 6), SetQueue(0), Output(port)), watch_port=port)
        for label, port in ((T2, 3), (T1, 1), (T3, 2))
    )


def test_of_tunnels_with_the_same_first_link_one_is_the_last_resort() -> None:
    topology = both_ways("fork", "a b c d z", "a-b b-c c-z b-d d-z a-z")
    groups = groups_by_id(build_tables(plan_of(topology, "a-b-c-z a-b-d-z a-z"))["a"])
    last_resort = groups[identifiers.last_resort_group(5, 0)]
    assert [(bucket.actions[0], bucket.watch_port) for bucket in last_resort.buckets] == [
        (PushLabel(16, 1), 1),
        (PushLabel(18, 1), 2),
    ]


def test_an_emptied_liveness_group_has_no_bucket_that_could_be_alive() -> None:
    assert liveness_group(T1, 1, alive=False).buckets == ()
    assert liveness_group(T1, 1, alive=True).buckets == (Bucket((), watch_port=1),)


@given(plan=plans())
def test_groups_come_after_the_groups_they_need_and_ids_are_unique(plan: Plan) -> None:
    for tables in build_tables(plan).values():
        known: set[int] = set()
        for group in tables.groups:
            for bucket in group.buckets:
                needed = {action.group_id for action in bucket.actions if isinstance(action, ToGroup)}
                if bucket.watch_group is not None:
                    needed.add(bucket.watch_group)
                assert needed <= known
            assert group.group_id not in known
            known.add(group.group_id)
        used = {action.group_id for flow in tables.flows for action in flow.actions if isinstance(action, ToGroup)}
        assert used <= known


@given(plan=plans())
def test_no_two_entries_of_a_switch_match_the_same_packet_at_the_same_priority(plan: Plan) -> None:
    for tables in build_tables(plan).values():
        keys = [(entry.priority, entry.match) for entry in tables.flows]
        assert len(set(keys)) == len(keys)


@given(plan=plans())
def test_every_route_is_followed_hop_by_hop_in_every_class_and_never_leaves_its_queue(plan: Plan) -> None:
    tables = build_tables(plan)
    wiring = Wiring(plan.topology)
    for direction in directions(plan):
        for route in direction.routes:
            for queue in PLAIN_LAYOUT.queues:
                switch, in_from = route.nodes[1], route.nodes[0]
                visited = [in_from]
                while True:
                    visited.append(switch)
                    match = Match(
                        in_port=wiring.port(switch, in_from),
                        eth_type=0x8847,
                        mpls_label=route.path_id,
                        mpls_tc=queue.traffic_class,
                    )
                    (entry,) = [entry for entry in tables[switch].flows if entry.match == match]
                    *_, set_queue, output = entry.actions
                    assert set_queue == SetQueue(queue.queue_id)
                    assert isinstance(output, Output)
                    following = wiring.neighbour_at(switch, output.port)
                    if following is None:
                        assert PopLabel() in entry.actions
                        assert output.port == wiring.host_port(switch)
                        break
                    switch, in_from = following, switch
                assert tuple(visited) == route.nodes


@pytest.mark.slow
@given(plan=plans())
def test_the_first_bucket_of_a_slot_is_its_tunnel_untagged_and_every_other_tunnel_follows_once(plan: Plan) -> None:
    tables = build_tables(plan)
    wiring = Wiring(plan.topology)
    for direction in directions(plan):
        groups = groups_by_id(tables[direction.ingress])
        split = groups[identifiers.split_group(wiring.datapath_id(direction.egress), 0)]
        assert split.group_type is GroupType.SELECT
        assert len(split.buckets) == 64
        path_ids = {route.path_id for route in direction.routes}
        for bucket in split.buckets:
            assert bucket.watch_group is None
            (action,) = bucket.actions
            assert isinstance(action, ToGroup)
            (primary, tag, queue), *others = failover_labels(groups[action.group_id])
            assert (tag, queue) == (0, 1)
            assert sorted([primary, *(label for label, _, _ in others)]) == sorted(path_ids)
            assert all((tag, queue) == (1, 2) for _, tag, queue in others)


def test_a_class_of_traffic_that_the_layout_lacks_is_refused() -> None:
    plan = motivation_plan()
    (pair,) = plan.pairs
    with pytest.raises(UnsoundError) as raised:
        build_tables(dataclasses.replace(plan, pairs=(pair, dataclasses.replace(pair, priority=1))))
    assert str(raised.value) == "pairs[1].priority: priority 1, expected one that the queue layout 'plain' serves: 0"


def test_a_label_outside_the_usable_range_is_refused() -> None:
    plan = motivation_plan()
    (pair,) = plan.pairs
    reserved = dataclasses.replace(pair.tunnels[0], path_id=3)
    bad = dataclasses.replace(plan, pairs=(dataclasses.replace(pair, tunnels=(reserved, *pair.tunnels[1:])),))
    with pytest.raises(ValueError, match="s1 to s4 has path id 3, expected an MPLS label from 16 to 1048575"):
        build_tables(bad)
