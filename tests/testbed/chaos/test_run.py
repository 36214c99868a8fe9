"""A short run on a real lab, with faults of most kinds at once: no finding, the plan's tables, nothing left."""

from __future__ import annotations

import json

import pytest

from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.networks import shipped_network
from te_solver.solve import solve
from testbed.chaos.faults import (
    CONTROLLER_FROZEN,
    CONTROLLER_KILLED,
    CUT,
    CUT_END,
    DATABASE_FROZEN,
    FLAP,
    FROM_SWITCH_CUT,
    PLAN_REPLACED,
    SLOW,
    SWITCH_WIPED,
    SWITCHES_FROZEN,
    ChaosFault,
    faults_from_json,
)
from testbed.chaos.oracle import LossWindows
from testbed.chaos.report import report_json, report_text
from testbed.chaos.run import ChaosRun, run_chaos
from testbed.lab.lab_options import LabOptions

pytestmark = pytest.mark.emulation

CAPACITY = 20.0
FAULTS = (
    ChaosFault(0.0, CUT, ("s1", "s2"), 2.0),
    ChaosFault(0.5, CONTROLLER_KILLED, (), 1.0),
    ChaosFault(1.0, DATABASE_FROZEN, (), 2.0),
    ChaosFault(3.5, FLAP, ("s3", "s4"), 0.5),
    ChaosFault(4.0, CONTROLLER_FROZEN, (), 1.0),
    ChaosFault(5.0, PLAN_REPLACED, (), 0.0),
    ChaosFault(5.5, SLOW, ("s1", "s4"), 1.0),
    ChaosFault(6.0, CUT_END, ("s4", "s2"), 1.0),
    ChaosFault(6.5, FROM_SWITCH_CUT, ("s3",), 1.0),
    ChaosFault(8.0, SWITCHES_FROZEN, (), 0.5),
    ChaosFault(8.2, SWITCH_WIPED, ("s2",), 0.0),  # waits until the switches answer
)
PATIENT = LossWindows(local=0.5, remote=2.0, again=5.0, restored=5.0)
"""Other tests run at the same time: a machine that is slow to forward is not what is tested here."""


@pytest.fixture(scope="module")
def plans() -> tuple[Plan, Plan]:
    topology = load_topology(shipped_network("fig1")).with_capacity(CAPACITY)
    demands = [Demand("s1", "s4", 2 * CAPACITY)]
    return solve(topology, demands, 3), solve(topology, demands, 2)


def test_a_lab_survives_every_fault_and_nothing_is_left(plans: tuple[Plan, Plan]) -> None:
    result = run_chaos(ChaosRun(plans, LabOptions(), FAULTS, PATIENT, lambda _: None, tick=0.01))
    assert result.passed, report_text(result)
    assert {flow.tunnel for flow in result.flows} == {tunnel.nodes for tunnel in plans[0].tunnels if tunnel.weight > 0}
    assert all(count.came > 0.5 * count.sent > 100 for count in result.counts)
    assert len([span for span in result.timeline.spans if span.kind == FLAP]) == 1
    document = json.loads(json.dumps(report_json(result, "fig1", 1, PATIENT, {})))
    assert faults_from_json(document["faults"], plans[0].topology, "report") == FAULTS
