"""On full links of a real lab victims cost others of their class nothing; if they are not demoted, that is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.networks import shipped_network
from te_solver.solve import solve
from testbed.chaos import run as running
from testbed.chaos.faults import CUT, ChaosFault
from testbed.chaos.full_queues import FullQueueLoad
from testbed.chaos.oracle import LossWindows
from testbed.chaos.probes import Probe
from testbed.chaos.report import report_text
from testbed.chaos.run import ChaosResult, ChaosRun, run_chaos
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions

pytestmark = [pytest.mark.emulation, pytest.mark.slow]

CAPACITY, SHARE, TICK = 10.0, 0.85, 0.01
PATIENT = LossWindows(local=0.5, remote=1.0, again=2.0, restored=2.0)
FAULTS = (ChaosFault(0.5, CUT, ("s1", "s4"), 8.0),)


def plans_for(*rates: float) -> tuple[Plan, Plan]:
    """Return plans of Figure 1 with a demand of each rate, the first of the highest class, by three tunnels and two."""
    topology = load_topology(shipped_network("fig1")).with_capacity(CAPACITY)
    demands = [Demand("s1", "s4", rate, priority) for priority, rate in enumerate(rates)]
    return solve(topology, demands, 3), solve(topology, demands, 2)


def result_of(plans: tuple[Plan, Plan], options: LabOptions) -> ChaosResult:
    return run_chaos(ChaosRun(plans, options, FAULTS, PATIENT, lambda _: None, TICK, load=SHARE))


def lost(result: ChaosResult, priority: int) -> int:
    """Return the packets of the load of a class that were lost."""
    return sum(each.sent - each.came for each in result.load if each.flow.priority == priority)


def test_a_high_class_and_aboriginal_traffic_lose_nothing_while_queues_below_overflow() -> None:
    result = result_of(plans_for(1.2 * CAPACITY, 3 * CAPACITY), LabOptions(layout="four"))
    text = report_text(result)
    assert result.passed, text
    assert {flow.priority for flow in result.flows} == {0, 1}
    assert lost(result, 1) > 1000, text


def test_victims_in_the_queue_of_others_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    load_of = running._load

    def as_if_demoted(
        run: ChaosRun, lab: Lab, probes: Sequence[Probe], paces: Mapping[Probe, float]
    ) -> FullQueueLoad | None:
        load = load_of(run, lab, probes, paces)
        return None if load is None else replace(load, demotes=True)

    monkeypatch.setattr(running, "_load", as_if_demoted)
    result = result_of(plans_for(3 * CAPACITY), LabOptions(scheme="rescaling"))
    found = {finding.flow.tunnel for finding in result.lost_without_excuse}
    assert found, report_text(result)
    assert ("s1", "s4") not in found, report_text(result)
