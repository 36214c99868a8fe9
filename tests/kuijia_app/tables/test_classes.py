"""Several classes of traffic: each split by its own weights over shared tunnels, with its own marks and queues."""

from __future__ import annotations

import dataclasses
from collections import Counter

from hypothesis import given, settings

from kuijia_app.tables import identifiers
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.routes import classes_by_ends, directions
from kuijia_app.tables.rules import FlowEntry, Group, Match, PushLabel, SwitchTables, ToGroup
from kuijia_app.tables.wiring import Wiring
from te_solver.model.plan import Plan
from te_solver.schemes.shipped.rescaling import RESCALING
from tests.kuijia_app.plans import class_plans, motivation_plan

T1, T2, T3 = 16, 17, 18
FOUR, EIGHT = LAYOUTS["four"], LAYOUTS["eight"]
HIGH_MARK = 46


def two_classes() -> Plan:
    """Return figure 1 with high traffic on T1 and T2 alone, and low traffic on all tunnels."""
    plan = motivation_plan((0.5, 0.5, 0.0))
    (high,) = plan.pairs
    (low,) = motivation_plan((0.25, 0.25, 0.5)).pairs
    return dataclasses.replace(plan, pairs=(high, dataclasses.replace(low, priority=1)))


def groups_by_id(tables: SwitchTables) -> dict[int, Group]:
    return {group.group_id: group for group in tables.groups}


def first_and_later(tables: SwitchTables, split: int) -> tuple[Counter[int], set[int], set[int]]:
    """Return slots by label, and the traffic classes of first and of later choices."""
    groups = groups_by_id(tables)
    slots: Counter[int] = Counter()
    first: set[int] = set()
    later: set[int] = set()
    for bucket in groups[split].buckets:
        (to_group,) = bucket.actions
        assert isinstance(to_group, ToGroup)
        pushes = [action for each in groups[to_group.group_id].buckets for action in each.actions]
        labels = [action for action in pushes if isinstance(action, PushLabel)]
        slots[labels[0].label] += 1
        first.add(labels[0].traffic_class)
        later.update(label.traffic_class for label in labels[1:])
    return slots, first, later


def test_each_class_is_split_by_its_own_weights_and_queued_in_its_own_queues() -> None:
    tables = build_tables(two_classes(), PipelineOptions(layout=FOUR))["s1"]
    high, low = (each for each in FOUR.classes)
    for index, (each, slots) in enumerate(((high, {T1: 32, T2: 32}), (low, {T1: 16, T2: 16, T3: 32}))):
        found, first, later = first_and_later(tables, identifiers.split_group(4, index))
        assert found == slots
        assert (first, later) == ({each.normal.traffic_class}, {each.victim.traffic_class})


def test_rescaling_leaves_moved_traffic_of_every_class_in_its_normal_queue() -> None:
    tables = build_tables(two_classes(), PipelineOptions(RESCALING, layout=FOUR))["s1"]
    for index, each in enumerate(FOUR.classes):
        _, first, later = first_and_later(tables, identifiers.split_group(4, index))
        assert first == later == {each.normal.traffic_class}


def test_marked_packets_go_to_their_class_and_all_others_to_the_last() -> None:
    entries = build_tables(two_classes(), PipelineOptions(layout=FOUR))["s1"].flows
    from_host = {
        (entry.priority, entry.match.ip_dscp): entry.actions for entry in entries if entry.match.ipv4_dst is not None
    }
    assert from_host == {
        (identifiers.DATA_PRIORITY, None): (ToGroup(identifiers.split_group(4, 1)),),
        (identifiers.CLASS_PRIORITY, HIGH_MARK): (ToGroup(identifiers.split_group(4, 0)),),
        (identifiers.CONTROL_PRIORITY, 48): (ToGroup(identifiers.control_group(4)),),
    }


def test_a_pair_planned_in_one_class_gets_all_its_packets_there() -> None:
    entries = build_tables(motivation_plan(), PipelineOptions(layout=EIGHT))["s1"].flows
    assert [entry.match.ip_dscp for entry in entries if entry.match.ipv4_dst is not None] == [None, 48]


def test_classes_of_a_pair_share_the_entries_of_its_tunnels() -> None:
    one = build_tables(motivation_plan(), PipelineOptions(layout=FOUR))
    two = build_tables(two_classes(), PipelineOptions(layout=FOUR))
    for switch in ("s2", "s3"):
        assert one[switch] == two[switch]
        assert len(two[switch].flows) == 2 * len(FOUR.queues) + 1


def test_a_class_that_only_the_other_direction_plans_comes_back_over_its_tunnels() -> None:
    plan = two_classes()
    high, low = plan.pairs
    backward = tuple(
        dataclasses.replace(tunnel, path_id=tunnel.path_id + 10, nodes=tunnel.nodes[::-1]) for tunnel in high.tunnels
    )
    plan = dataclasses.replace(
        plan, pairs=(high, low, dataclasses.replace(high, source="s4", target="s1", tunnels=backward))
    )
    labels = {
        direction.priority: [route.path_id for route in direction.routes]
        for direction in classes_by_ends(directions(plan))["s4", "s1"]
    }
    assert labels == {0: [T1 + 10, T2 + 10, T3 + 10], 1: [T1, T2, T3]}
    build_tables(plan, PipelineOptions(layout=FOUR))


@settings(max_examples=50, deadline=None)
@given(plan=class_plans(5))
def test_ids_are_unique_and_every_marked_class_has_its_entry(plan: Plan) -> None:
    tables = build_tables(plan, PipelineOptions(layout=EIGHT))
    wiring = Wiring(plan.topology)
    for each in tables.values():
        assert len(groups_by_id(each)) == len(each.groups)
        assert len({(entry.priority, entry.match) for entry in each.flows}) == len(each.flows)
    for (ingress, egress), classes in classes_by_ends(directions(plan)).items():
        used = {
            action.group_id
            for entry in tables[ingress].flows
            if entry.match.ipv4_dst == wiring.prefix(egress)
            for action in entry.actions
            if isinstance(action, ToGroup)
        }
        egress_id = wiring.datapath_id(egress)
        splits = {identifiers.split_group(egress_id, direction.priority) for direction in classes}
        assert used == splits | {identifiers.control_group(egress_id)}


def test_every_switch_of_a_tunnel_has_an_entry_per_queue_whatever_the_layout() -> None:
    for layout in LAYOUTS.values():
        entries = build_tables(motivation_plan(), PipelineOptions(layout=layout))["s2"].flows
        tags = Counter(entry.match.mpls_tc for entry in entries if entry.match.mpls_label is not None)
        assert tags == {queue.traffic_class: 2 for queue in layout.queues}


def test_an_entry_names_the_queue_of_its_traffic_class() -> None:
    (entry,) = (
        entry
        for entry in build_tables(motivation_plan(), PipelineOptions(layout=EIGHT))["s2"].flows
        if entry.match == Match(in_port=1, eth_type=0x8847, mpls_label=T1, mpls_tc=0)
    )
    assert isinstance(entry, FlowEntry)
    assert [queue.queue_id for queue in EIGHT.queues if queue.traffic_class == 0] == [6]
    assert "SetQueue(queue_id=6)" in repr(entry.actions)
