"""A lab with re-optimisation follows the plans that its controller solves after failures, with both livenesses."""

from __future__ import annotations

import pytest

from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_demands, shipped_network
from te_solver.solve import solve
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from tests.kuijia_app.dummy_switches import wait_until

pytestmark = [pytest.mark.emulation, pytest.mark.slow]

OVER_S2 = ("s1", "s2", "s4")


def has_tunnel_over_s2(lab: Lab) -> bool:
    lab.counters()  # any look at the lab
    return OVER_S2 in {tunnel.nodes for tunnel in lab.plan.tunnels}


@pytest.mark.parametrize("liveness", ["controller", "bfd"])
def test_a_lab_follows_plans_solved_after_a_failure_and_after_it_healed(liveness: str) -> None:
    topology = load_topology(shipped_network("fig1")).with_capacity(20.0)
    plan = solve(topology, load_demands(shipped_demands("fig1"), topology))
    with Lab(plan, LabOptions(liveness=liveness, reoptimise=True), lambda _: None) as lab:
        assert has_tunnel_over_s2(lab)
        lab.fail("s2", "s4")
        wait_until(lambda: not has_tunnel_over_s2(lab), "no tunnel uses the link that failed")
        lab.heal("s2", "s4")
        wait_until(lambda: has_tunnel_over_s2(lab), "a tunnel uses the link again")
        sessions = lab.status()["sessions"]
        assert len(sessions) == (len(lab.plan.tunnels) if liveness == "bfd" else 0)
        wait_until(lambda: all(end["up"] for each in lab.status()["sessions"] for end in each["ends"]), "all are up")
