"""Packets delivered by a leaf-spine network per second of real time: the packet model and ns-3."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import apart, timed
from benchmarks.ns3.agreement import permutation
from benchmarks.ns3.peer import Ns3MissingError, ns3_version, program
from benchmarks.ns3.scenes import Scene, measured
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from simulator.packet.flows import Flows
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import LeafSpine
from simulator.packet.transports import Congestion, Tcp

_SECONDS = 0.1
_SECONDS_OF_NS3 = 0.02
"""Simulated times of both; neither rate depends on them."""
_REPETITIONS = 3
_GROWTH_GIGABITS = 4.0
"""Gigabits that all hosts together send in a case of growth."""
_GOAL = 50.0
_AIM = 120.0


@benchmark("packet-vs-ns3")
def packet_vs_ns3(setting: BenchmarkSetting) -> Iterator[Comparison]:
    try:
        version = ns3_version()
    except Ns3MissingError as error:
        setting.progress.say(f"left out: {error}")
        return
    setting.progress.show("ours")
    ours = [_delivery(permutation(_SECONDS)) for _ in range(_REPETITIONS)]
    best = max(rate for rate, _ in ours)
    with program() as peer:
        setting.progress.show(f"ns-3 {version}")
        outcomes = [permutation(_SECONDS_OF_NS3).in_ns3(peer) for _ in range(_REPETITIONS)]
    theirs = max(outcome.packets / outcome.seconds for outcome in outcomes)
    same = measured(permutation(_SECONDS_OF_NS3))
    ratio = best / theirs
    detail = {
        "problem": "32 DCTCP flows without an end, 4 leaves, 4 spines, 10 Gbit/s; ns-3 runs "
        f"{_SECONDS_OF_NS3:g} s of it, ours {_SECONDS:g} s",
        "data packets per second, ours": best,
        "data packets per second, ns-3": theirs,
        "events per second, ours": max(rate for _, rate in ours),
        "goodput in Mbit/s, ours and ns-3": [
            {"ours": float(np.sum(same.goodput)), "ns-3": float(np.sum(outcomes[0].goodput))},
        ],
        "MB of the process, ns-3": outcomes[0].megabytes,
        "growth": [_growth(*case) for case in ((8, 1, 10.0), (32, 1, 10.0), (128, 1, 10.0), (512, 1, 10.0))]
        + [_growth(*case) for case in ((32, 4, 10.0), (32, 1, 40.0), (32, 1, 100.0))],
        "goals": [
            goal(f"{_GOAL:g} times as many packets per second as ns-3", met=ratio >= _GOAL),
            goal(f"{_AIM:g} times", met=ratio >= _AIM),
        ],
    }
    yield Comparison(1e6 / best, 1e6 / theirs, f"ns-3 {version}", "µs per delivered data packet", detail)


def _delivery(scene: Scene) -> tuple[float, float]:
    """Return data packets and events per second of real time."""
    simulation = scene.simulation()
    run = timed(partial(simulation.run, scene.until))
    totals = simulation.totals()
    return totals.data_arrived / run.seconds, totals.events / run.seconds


def _growth(hosts: int, flows_per_host: int, gigabits: float) -> dict[str, object]:
    """Return the rate and memory of a process that simulates a network of this size."""
    rate, packets, megabytes = apart(_grown, (hosts, flows_per_host, gigabits)).value
    return {
        "hosts": hosts,
        "flows": hosts * flows_per_host,
        "Gbit/s": gigabits,
        "packets/s": round(rate),
        "most packets at a time": packets,
        "MB of network and packets": megabytes,
    }


def _grown(case: tuple[int, int, float]) -> tuple[float, int, float]:
    hosts, flows_per_host, gigabits = case
    per_leaf = 8
    leaves = hosts // per_leaf
    fabric = LeafSpine(leaves, max(1, leaves), per_leaf, gigabits * 1e3, gigabits * 1e3, 1e-6)
    network = fabric.network(Fifo(300_000, Threshold(97_500)))
    source = np.repeat(np.arange(hosts), flows_per_host)
    shift = 1 + np.random.default_rng(1).integers(0, hosts - 1, source.size)
    transport = replace(Tcp(congestion=Congestion.DCTCP), min_timeout=0.01)
    flows = Flows.of(source, (source + shift) % hosts, transport)
    before = _resident_megabytes()
    simulation = Simulation(network, [flows])
    run = timed(partial(simulation.run, _GROWTH_GIGABITS / gigabits / hosts))
    totals = simulation.totals()
    return totals.data_arrived / run.seconds, totals.allocated, round(_resident_megabytes() - before, 1)


def _resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6
