"""Rate and memory of the packet model on fat-trees of growing size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.measure import apart, processor_time
from benchmarks.registry import Comparison, Setting, benchmark, goal
from simulator.packet.flows import Flows
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import fat_tree
from simulator.packet.transports import Congestion, Tcp

_RATE = 10_000.0
_DELAY = 1e-6
_LIMIT = 300_000
_THRESHOLD = 97_500
_SECONDS = {4: 0.05, 8: 0.01, 16: 0.002, 32: 0.0005}
"""Simulated seconds by the ports of a switch: some million hops of packets in each."""
_REPETITIONS = 3
_COMPARED = 16
_LEAST = 0.65
_MOST_MEGABYTES = 3000


@dataclass(frozen=True)
class Growth:
    """A run of a fat-tree: processor seconds without building it, and what happened in them."""

    hosts: int
    seconds: float
    packets: int
    hops: int

    @property
    def microseconds(self) -> float:
        """Return the time of a packet's hop."""
        return self.seconds * 1e6 / self.hops


@benchmark("packet-growth")
def packet_growth(setting: Setting) -> Iterator[Comparison]:
    smallest, *_ = _SECONDS
    best: dict[int, Growth] = {}
    megabytes = {}
    for _ in range(_REPETITIONS):  # in turn, so that a disturbance meets all sizes
        for ports in _SECONDS:
            setting.progress.show(f"{ports**3 // 4} hosts")
            run = apart(grown, ports)
            megabytes[ports] = run.peak_megabytes
            best[ports] = min(run.value, best.get(ports, run.value), key=lambda growth: growth.microseconds)
    ours, reference = best[_COMPARED], best[smallest]
    share = reference.microseconds / ours.microseconds
    largest = max(megabytes.values())
    detail = {
        "problem": "DCTCP over fat-trees of 10 Gbit/s and 1 µs per link; each host sends without an end to the one "
        "half the network away, so that all packets cross 6 links and their acknowledgements as many",
        "growth": [
            {
                "hosts": growth.hosts,
                "data packets/s": round(growth.packets / growth.seconds),
                "hops/s": round(growth.hops / growth.seconds),
                "MB of the process": megabytes[ports],
            }
            for ports, growth in best.items()
        ],
        "goals": [
            goal(f"{_LEAST:g} of the rate of {reference.hosts} hosts with {ours.hosts}", met=share >= _LEAST),
            goal(f"at most {_MOST_MEGABYTES} MB", met=largest <= _MOST_MEGABYTES),
        ],
    }
    peer = f"{reference.hosts} hosts"
    yield Comparison(ours.microseconds, reference.microseconds, peer, "µs of a processor per packet and hop", detail)


def grown(ports: int) -> Growth:
    """Return what happens in a fat-tree whose switches have so many ports."""
    network = fat_tree(ports, _RATE, _DELAY, Fifo(_LIMIT, Threshold(_THRESHOLD)))
    hosts = np.array(network.hosts)
    transport = Tcp(congestion=Congestion.DCTCP, min_timeout=0.01)
    simulation = Simulation(network, [Flows.of(hosts, np.roll(hosts, -(hosts.size // 2)), transport)])
    seconds = processor_time(lambda: simulation.complete(_SECONDS[ports]))
    totals = simulation.totals()
    hops = int(simulation.link_results().sent_packets.sum())
    return Growth(hosts.size, seconds, totals.data_arrived, hops)
