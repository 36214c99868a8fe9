"""Time of one run of the packet model by two threads and by one, on a WAN of three data centres."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from benchmarks.measure import timed
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from experiments.flashpass.dynamic import WanRun, wan
from experiments.flashpass.schemes import TransportScheme
from simulator.packet import scenario
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.simulation import Simulation
from simulator.packet.transports import Congestion, Tcp

_LOAD = 0.8
_FLOWS = 1_200
_SECONDS = {"FlashPass": 0.9, "DCTCP": 6.0, "Cubic": 6.0}
"""Simulated seconds by transport: some 20 million events of each."""
_REPETITIONS = 5
_BUFFER, _THRESHOLD = 20.0, 4.0
"""Bytes per Mbit/s of the link in DCTCP's queues, and of these where marking begins."""
_LEAST = 1.6


@dataclass(frozen=True)
class TimedRun:
    """A run: seconds without building it, events, and the bytes that each flow received."""

    seconds: float
    events: int
    received: bytes


@benchmark("packet-two-cores")
def packet_two_cores(setting: BenchmarkSetting) -> Iterator[Comparison]:
    for name in _SECONDS:
        runs: dict[int, list[TimedRun]] = {1: [], 2: []}
        for _ in range(_REPETITIONS):  # in turn, so that a disturbance meets both
            for threads, measured in runs.items():
                setting.progress.show(f"{name}, {threads} threads")
                measured.append(_measured(name, threads))
        one, two = (min(run.seconds for run in measured) for measured in runs.values())
        detail = {
            "problem": f"{name} between three data centres of 20 hosts, 20 to 40 ms apart, load {_LOAD:g}",
            "events": runs[1][0].events,
            "goals": [
                goal("the same bytes of every flow", met=len({run.received for run in (*runs[1], *runs[2])}) == 1),
                goal(f"{_LEAST:g} times as fast", met=one >= _LEAST * two),
            ],
        }
        yield Comparison(two, one, "one thread", "s", detail)


def _measured(name: str, threads: int) -> TimedRun:
    simulation = _simulation(name, threads)
    seconds = timed(lambda: simulation.complete(_SECONDS[name])).seconds
    return TimedRun(seconds, simulation.totals().events, simulation.flow_results().goodput.tobytes())


@cache
def _scheme(name: str) -> TransportScheme:
    if name == "DCTCP":
        return TransportScheme(Tcp(Congestion.DCTCP, first_timeout=0.2))
    return TransportScheme.of(name.lower())


def _simulation(name: str, threads: int) -> Simulation:
    scheme = _scheme(name)
    network = scheme.on(wan())
    if name == "DCTCP":
        queues = {
            rate: Fifo(round(_BUFFER * rate), Threshold(round(_THRESHOLD * rate)))
            for rate in np.unique([link.rate for link in network.links])
        }
        hosts = set(network.hosts)
        links = [link if link.source in hosts else replace(link, queueing=queues[link.rate]) for link in network.links]
        network = replace(network, links=links)
    flows = WanRun(_LOAD, _FLOWS, 1, scheme).drawn(network)
    return Simulation(network, [flows], scenario.Setting(own_streams=True, threads=threads))
