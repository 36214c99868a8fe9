"""Counters of tunnels: each packet of a tunnel is counted once at each switch, and detours use none that is avoided."""

from __future__ import annotations

import pytest

from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.sliced_work import at_once
from kuijia_app.control.tunnel_counters import TunnelCounters
from kuijia_app.tables.identifiers import TUNNEL_PRIORITY
from kuijia_app.tables.options import Form, Liveness, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import Group, GroupType, SwitchTables, ToGroup
from te_solver.plan import Plan
from tests.kuijia_app.plans import motivation_plan

OPTIONS = [
    PipelineOptions(),
    PipelineOptions(form=Form.DECOMPOSED),
    PipelineOptions(tagging=Tagging.DSCP_ECN),
    PipelineOptions(liveness=Liveness.BFD),
]


def counters_of(plan: Plan, options: PipelineOptions, tables: dict[str, SwitchTables]) -> TunnelCounters:
    counters = TunnelCounters()
    at_once(counters.adding(plan, options, tables))
    return counters


@pytest.mark.parametrize("options", OPTIONS, ids=["mpls", "decomposed", "dscp-ecn", "bfd"])
def test_every_entry_of_a_tunnel_and_every_bucket_that_sends_belongs_to_one_stream(options: PipelineOptions) -> None:
    plan = motivation_plan()
    tables = build_tables(plan, options)
    counters = counters_of(plan, options, tables)
    for switch, its in tables.items():
        entries = {FlowKey.of(each) for each in its.flows if each.table_id == 0 and each.priority == TUNNEL_PRIORITY}
        assert counters.of_entry.get(switch, {}).keys() == entries
        for group in its.groups:
            for bucket, stream in zip(group.buckets, counters.of_bucket(switch, group), strict=True):
                sends = len(bucket.actions) > 1
                assert (stream is not None) is sends
    assert {stream.tunnel for stream in counters.streams} == {
        (ingress, path_id) for ingress in ("s1", "s4") for path_id in (16, 17, 18)
    }


def first_uses(groups: dict[int, Group], counters: TunnelCounters, group: Group) -> set[int]:
    """Return the path ids that the group leads to while everything that its buckets watch is alive."""
    if group.group_type is GroupType.SELECT:
        used = (first_uses(groups, counters, groups[its.actions[0].group_id]) for its in group.buckets)  # type: ignore[union-attr]
        return set().union(*used)
    bucket, stream = group.buckets[0], counters.of_bucket("s1", group)[0]
    if stream is not None:
        return {stream.tunnel[1]}
    last = bucket.actions[-1]
    assert isinstance(last, ToGroup)
    return first_uses(groups, counters, groups[last.group_id])


@pytest.mark.parametrize("avoided", [{16}, {17}, {16, 18}])
def test_detours_lead_past_avoided_tunnels_by_changing_groups_alone(avoided: set[int]) -> None:
    plan, options = motivation_plan(), PipelineOptions(liveness=Liveness.BFD)
    tables = build_tables(plan, options)
    counters = counters_of(plan, options, tables)
    groups = {group.group_id: group for group in tables["s1"].groups}
    detours = {group.group_id: group for group in counters.detours("s1", groups.values(), avoided)}
    assert detours.keys() < groups.keys()
    taken = {**groups, **detours}
    for group in tables["s1"].groups:
        if group.group_type is GroupType.SELECT:
            assert first_uses(groups, counters, group) == {16, 17, 18}
            assert first_uses(taken, counters, group) == {16, 17, 18} - avoided


def test_a_last_resort_keeps_all_its_tunnels() -> None:
    plan, options = motivation_plan(), PipelineOptions(liveness=Liveness.BFD)
    tables = build_tables(plan, options)
    counters = counters_of(plan, options, tables)
    for group in counters.detours("s1", tables["s1"].groups, {16, 17, 18}):
        assert any(isinstance(bucket.actions[-1], ToGroup) for bucket in group.buckets)
