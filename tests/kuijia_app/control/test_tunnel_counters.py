"""Counters of tunnels: each packet of a tunnel is counted once at each switch."""

from __future__ import annotations

import pytest

from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.sliced_work import at_once
from kuijia_app.control.tunnel_counters import TunnelCounters
from kuijia_app.tables.options import Form, Liveness, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import SwitchTables
from te_solver.model.plan import Plan
from tests.kuijia_app.plans import motivation_plan

TUNNEL_PRIORITY = 300

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
