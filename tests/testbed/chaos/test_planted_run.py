"""A run on a real lab finds what breaks behind the oracle: lost packets, a foreign entry, a process left behind."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable

import pytest

from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.networks import shipped_network
from te_solver.solve import solve
from testbed.chaos import run as running
from testbed.chaos.controllers import freeze, nothing
from testbed.chaos.faults import SLOW, ChaosFault
from testbed.chaos.injection import Injector
from testbed.chaos.oracle import LossWindows
from testbed.chaos.report import report_text
from testbed.chaos.run import TICK_SECONDS, ChaosResult, ChaosRun, run_chaos
from testbed.lab.lab_options import LabOptions
from testbed.links.port_status import set_devices
from testbed.machine.run_directory import LAB_VARIABLE

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.slow]

UNSEEN_SECONDS = 0.3
UNUSED_ID = 99
CAPACITY = 20.0


def test_what_breaks_behind_the_oracle_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    strays: list[subprocess.Popen[bytes]] = []

    def break_unseen(injector: Injector, fault: ChaosFault) -> Callable[[], None]:
        lab, ends = injector._lab, injector._ends(fault)
        thaw = freeze(lab.controller.pid)
        set_devices(ends, up=False)
        time.sleep(UNSEEN_SECONDS)
        thaw()
        set_devices(ends, up=True)
        # Of another cookie than ours: the controller deletes its own entries that no plan has within seconds.
        match = f"table=0,priority=300,mpls,in_port=1,mpls_label={UNUSED_ID},mpls_tc=0"
        lab.network.ofctl("s3", "add-flow", f"{match},actions=set_queue:1,output:2")
        unnamed = {name: value for name, value in os.environ.items() if name != LAB_VARIABLE}
        strays.append(subprocess.Popen(["sleep", "600"], env=unnamed, start_new_session=True))
        return nothing

    monkeypatch.setattr(Injector, "_slow", break_unseen)
    monkeypatch.setattr(running, "_SETTLE_SECONDS", 2.0)
    topology = load_topology(shipped_network("fig1")).with_capacity(CAPACITY)
    plan = solve(topology, [Demand("s1", "s4", 2 * CAPACITY)], 3)
    way = next(tunnel.nodes for tunnel in plan.tunnels if len(tunnel.nodes) > 2 and tunnel.weight > 0)
    run = ChaosRun(
        (plan, plan),
        LabOptions(),
        (ChaosFault(0.5, SLOW, way[-2:], 0.0),),
        LossWindows(),
        lambda _: None,
        has_streams=False,
    )
    try:
        result = run_chaos(run)
        if not costs_enough(result, way) and (result.timeline.stalled or result.timeline.starved):
            result = run_chaos(run)  # a machine that stalls may let the controller see what it should not
    finally:
        for stray in strays:
            stray.kill()
            stray.wait()
    text = report_text(result)
    assert not result.passed
    assert {finding.flow.tunnel for finding in result.lost_without_excuse} == {way}, text
    assert costs_enough(result, way), text
    assert [line.partition(":")[0] for line in result.tables] == ["s3"], text
    assert any(line.startswith(f"process {strays[-1].pid} holds ") for line in result.leaks), text


def costs_enough(result: ChaosResult, way: tuple[str, ...]) -> bool:
    """Return True if the flow by this tunnel has lost what the break should cost; a busy machine may not judge all."""
    (number,) = (flow.number for flow in result.flows if flow.tunnel == way)
    lost = sum(loss.packets for loss in result.losses if loss.flow == number)
    return lost > UNSEEN_SECONDS / TICK_SECONDS / 2
