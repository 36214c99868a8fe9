"""Packets that no pair of the plan carries: dropped and counted, or sent best effort over shortest paths."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network

import pytest
from hypothesis import given, settings

from kuijia_app.tables import identifiers
from kuijia_app.tables.options import Form, Liveness, OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.other_traffic import drop_entry
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.rules import Bucket, Match, Output, PopLabel, PushLabel, SetQueue, ToGroup
from kuijia_base.errors import UnsoundError
from te_solver.model.plan import Plan
from tests.kuijia_app.plans import class_plans, motivation_plan
from tests.kuijia_app.proof.verifying import verify

FORWARD = PipelineOptions(other_traffic=OtherTraffic.FORWARD)


@pytest.mark.parametrize("options", [PipelineOptions(), FORWARD])
def test_each_host_port_has_one_entry_that_counts_what_is_dropped(options: PipelineOptions) -> None:
    for switch, tables in build_tables(motivation_plan(), options).items():
        port = {"s1": 4, "s2": 3, "s3": 3, "s4": 4}[switch]
        assert [entry for entry in tables.flows if not entry.actions] == [drop_entry(port)]
        assert min(entry.priority for entry in tables.flows) == identifiers.DROP_PRIORITY


def test_forwarded_traffic_takes_the_shortest_path_as_a_victim_of_the_least_important_class() -> None:
    layout = LAYOUTS["four"]
    lowest = layout.classes[-1].victim
    tables = build_tables(motivation_plan(), replace(FORWARD, layout=layout))
    group_id = identifiers.last_resort_group(4, 1)
    to_s4 = Match(in_port=3, eth_type=0x0800, ipv4_dst=IPv4Network("10.0.4.0/24"))
    (entering,) = (entry for entry in tables["s2"].flows if entry.match == to_s4)
    assert (entering.priority, entering.actions) == (identifiers.OTHER_PRIORITY, (ToGroup(group_id),))
    label = PushLabel(identifiers.other_path_id(4), lowest.traffic_class)
    (group,) = (group for group in tables["s2"].groups if group.group_id == group_id)
    assert group.buckets == (Bucket((label, SetQueue(lowest.queue_id), Output(2)), watch_port=2),)
    arriving = (entry for entry in tables["s4"].flows if entry.match.mpls_label == label.label)
    (leaving,) = (entry for entry in arriving if entry.match.in_port == 2)
    assert leaving.match.mpls_tc == lowest.traffic_class
    assert leaving.actions == (PopLabel(), SetQueue(lowest.queue_id), Output(4))


def test_a_planned_pair_keeps_its_tables() -> None:
    plan = motivation_plan()
    dropped, forwarded = (build_tables(plan, options)["s1"] for options in (PipelineOptions(), FORWARD))
    assert set(dropped.flows) < set(forwarded.flows)
    assert set(dropped.groups) < set(forwarded.groups)


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("liveness", Liveness)
@pytest.mark.parametrize("layout", ["plain", "eight"])
def test_forwarding_is_sound_whatever_fails(form: Form, liveness: Liveness, layout: str) -> None:
    options = replace(FORWARD, form=form, liveness=liveness, layout=LAYOUTS[layout], slot_count=16)
    plan = motivation_plan()
    found = verify(plan, build_tables(plan, options), options)
    assert [str(violation) for violation in found.violations] == []


@settings(max_examples=15, deadline=None)
@given(plan=class_plans(2))
def test_forwarding_is_sound_for_any_plan(plan: Plan) -> None:
    options = replace(FORWARD, layout=LAYOUTS["four"], slot_count=16)
    assert [str(each) for each in verify(plan, build_tables(plan, options), options).violations] == []


def test_forwarding_in_another_queue_is_found() -> None:
    plan = motivation_plan()
    tables = build_tables(plan, FORWARD)
    label = identifiers.other_path_id(4)
    flows = tuple(
        replace(entry, actions=tuple(SetQueue(1) if isinstance(each, SetQueue) else each for each in entry.actions))
        if entry.match.mpls_label == label
        else entry
        for entry in tables["s4"].flows
    )
    tables["s4"] = replace(tables["s4"], flows=flows)
    told = [str(each) for each in verify(plan, tables, FORWARD).violations]
    assert any("s2 -> s4, of no pair" in each and "in queue 1 instead of queue 2 at s4" in each for each in told)


def test_dropped_packets_that_nothing_counts_are_found() -> None:
    plan = motivation_plan()
    tables = build_tables(plan)
    tables["s2"] = replace(tables["s2"], flows=tuple(each for each in tables["s2"].flows if each.actions))
    told = [str(each) for each in verify(plan, tables, PipelineOptions()).violations]
    assert told
    assert all(each.startswith("stray: no failure: s2 -> ") and "dropped but not counted" in each for each in told)


def test_forwarding_needs_tags_that_code_points_do_not_have() -> None:
    with pytest.raises(UnsoundError, match=r"other-traffic forward with tagging dscp-ecn, expected other-traffic drop"):
        build_tables(motivation_plan(), replace(FORWARD, tagging=Tagging.DSCP_ECN))
