"""A simulated minute of 8,192 hosts with arriving flows, scheduled every 5 seconds, compared with real time."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.measure import timed
from benchmarks.registry import Comparison, Setting, benchmark, goal
from experiments.hedera import simulation
from experiments.hedera.large import ITERATIONS, annealing, arriving, larger
from hedera.network.fat_tree import FatTree
from hedera.placement.simulated_annealing import SimulatedAnnealing
from simulator.flow_sizes.published import published_flow_sizes

_PORTS = 32
_LOAD = 0.4
_FLOW_SIZES = "data-mining"
_SECONDS = 60.0
_GOAL_SECONDS = 30.0


@benchmark("hedera-8192")
def hedera_8192(setting: Setting) -> Iterator[Comparison]:
    setting.progress.show("hedera-8192: a minute of flows that come and go")
    tree = FatTree(_PORTS)
    workload = arriving(tree, larger(published_flow_sizes(_FLOW_SIZES), _FLOW_SIZES), _LOAD, _SECONDS, seed=1)
    placement = SimulatedAnnealing(annealing(tree.hosts, seed=1))
    run = simulation.Simulation(tree, placement, workload, simulation.Setting(end=_SECONDS))
    before = time.process_time()
    ours = timed(run.run)
    worked = time.process_time() - before
    detail = {
        "problem": f"{workload.flows:,} flows, {tree.hosts:,} hosts, {ITERATIONS:,} iterations in a round",
        "seconds of processor time": worked,
        "changes of rates": len(ours.value.times),
        "elephants in a round, at most": max(ours.value.elephants),
        "goals": [goal(f"at most {_GOAL_SECONDS:g} s", met=ours.seconds <= _GOAL_SECONDS)],
    }
    yield Comparison(ours.seconds, _SECONDS, "the simulated time", "s", detail)
