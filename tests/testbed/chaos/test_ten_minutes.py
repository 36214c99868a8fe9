"""Ten minutes of faults of every kind at a fixed seed, half of them with a pair of controllers: nothing is found.

`./run test` starts this file beside the other tests, so a loss may be owed to a machine that stalled. What a stall does
not excuse by itself is tried again if the machine stalled at about that time, and must then pass. So is everything if
a command was not answered on a machine that stalled for long.
"""

from __future__ import annotations

import sys
import time

import pytest

from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.networks import shipped_network
from te_solver.solve import solve
from testbed.chaos.faults import KINDS, PAIR_KINDS, ChaosFault, draw_faults
from testbed.chaos.oracle import LossWindows
from testbed.chaos.report import report_text
from testbed.chaos.run import QUIET_SECONDS, ChaosResult, ChaosRun, run_chaos
from testbed.lab.lab_options import LabOptions
from tests.testbed.chaos.trying_again import faults_again, was_disturbed

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.slow, pytest.mark.timeout(1800)]

SEED, SECONDS, EVERY = 27, 300.0, 2.5
CAPACITY = 20.0
WINDOWS = LossWindows(before=0.1, local=0.08, remote=0.4, again=2.0, restored=2.0)
"""Wider than on a machine of its own (docs/chaos.md)."""

PROGRESS_SECONDS = 30.0


class Progress:
    """Says every half a minute how far a run is, where pytest lets its output through."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = self._said = time.monotonic()
        self._faults = 0

    def __call__(self, line: str) -> None:
        now = time.monotonic()
        self._faults += " s: " in line
        if now - self._said >= PROGRESS_SECONDS:
            self._said = now
            passed = now - self._began
            sys.stderr.write(f"chaos, {self._what}: {passed:.0f} of {SECONDS:.0f} s, {self._faults} faults\n")


@pytest.fixture(scope="module")
def plans() -> tuple[Plan, Plan]:
    topology = load_topology(shipped_network("fig1")).with_capacity(CAPACITY)
    demands = [Demand("s1", "s4", 2 * CAPACITY)]
    return solve(topology, demands, 3), solve(topology, demands, 2)


@pytest.mark.parametrize("controllers", [1, 2])
def test_minutes_of_faults_cost_nothing_without_an_excuse(plans: tuple[Plan, Plan], controllers: int) -> None:
    kinds = [kind for kind in KINDS if controllers > 1 or kind not in PAIR_KINDS]
    faults = draw_faults(plans[0].topology, SEED, SECONDS, EVERY, kinds)
    assert {fault.kind for fault in faults} == set(kinds)
    result = _run(plans, controllers, faults)
    if not result.passed and was_disturbed(result):
        result = _run(plans, controllers, faults_again(result, QUIET_SECONDS))
    assert result.passed, report_text(result)


def _run(plans: tuple[Plan, Plan], controllers: int, faults: tuple[ChaosFault, ...]) -> ChaosResult:
    say = Progress("1 controller" if controllers == 1 else f"{controllers} controllers")
    return run_chaos(ChaosRun(plans, LabOptions(controllers=controllers), faults, WINDOWS, say))
