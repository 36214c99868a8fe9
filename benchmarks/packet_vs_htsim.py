"""Packets delivered by fat-trees per second of a processor: the packet model and csg-htsim."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.htsim.peer import HtsimFlow, HtsimLinks, HtsimMissingError, HtsimProgram, HtsimResult, program
from benchmarks.measure import processor_time
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from simulator.packet.flows import Flows
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.routing import Ecmp
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import fat_tree
from simulator.packet.transports import Congestion, Tcp
from simulator.packet.units import picoseconds

_RATE = 10_000.0
_DELAY = 1e-6
_LIMIT, _THRESHOLD = 300_000, 97_500
_PAYLOAD, _HEADER = 1460, 40
_PACKETS = {4: 20_000, 8: 2_500}
"""Data packets of each flow, by the ports of a switch."""
_STARTS = 1e-4
"""Seconds within which flows begin."""
_REPETITIONS = 5
_LEAST = 4.0
_UNLIMITED = 1 << 30


@dataclass(frozen=True)
class _Run:
    seconds: float
    finished_at: float


@benchmark("packet-vs-htsim")
def packet_vs_htsim(setting: BenchmarkSetting) -> Iterator[Comparison]:
    try:
        with program(setting.htsim) as peer:
            for ports in _PACKETS:
                yield _compared(setting, peer, ports)
    except HtsimMissingError as error:
        setting.progress.say(f"left out: {error}")


def _compared(setting: BenchmarkSetting, peer: HtsimProgram, ports: int) -> Comparison:
    scene = _Scene(ports)
    ours, theirs = [], []
    for _ in range(_REPETITIONS):  # in turn, so that a disturbance meets both
        setting.progress.show(f"{scene.hosts} hosts, ours")
        ours.append(scene.in_ours())
        setting.progress.show(f"{scene.hosts} hosts, htsim")
        theirs.append(scene.in_htsim(peer))
    best = min(run.seconds for run in ours) / (scene.hosts * _PACKETS[ports])
    peers = min(run.seconds for run in theirs) / theirs[0].packets
    detail = {
        "problem": f"fat-tree of {scene.hosts} hosts, 10 Gbit/s and 1 µs per link; each sends {_PACKETS[ports]} "
        "packets by DCTCP to the one half the network away, on the same paths in both",
        "data packets per second, ours": 1 / best,
        "data packets per second, htsim": 1 / peers,
        "events of htsim per data packet": theirs[0].events / theirs[0].packets,
        "ms until all flows have finished": [
            {"ours": ours[0].finished_at * 1e3, "htsim": theirs[0].finished_at * 1e3},
        ],
        "goals": [goal(f"{_LEAST:g} times as many packets per second as htsim", met=peers / best >= _LEAST)],
    }
    return Comparison(best * 1e6, peers * 1e6, "csg-htsim", "µs of a processor per delivered data packet", detail)


class _Scene:
    """The flows of a fat-tree, for both."""

    def __init__(self, ports: int) -> None:
        self._packets = _PACKETS[ports]
        self._network = fat_tree(ports, _RATE, _DELAY, Fifo(_LIMIT, Threshold(_THRESHOLD)))
        self._source = np.array(self._network.hosts)
        self._target = np.roll(self._source, -(self._source.size // 2))
        ecmp = Ecmp(self._network)
        pairs = zip(self._source.tolist(), self._target.tolist(), strict=True)
        self._paths = [
            (ecmp.route(source, target, flow), ecmp.route(target, source, flow))
            for flow, (source, target) in enumerate(pairs)
        ]
        self._start = np.random.default_rng(1).uniform(0, _STARTS, self.hosts).round(9)

    @property
    def hosts(self) -> int:
        return self._source.size

    def in_ours(self) -> _Run:
        """Run it in the packet model."""
        transport = Tcp(congestion=Congestion.DCTCP, payload=_PAYLOAD, header=_HEADER, handshake=True)
        size = self._packets * _PAYLOAD
        flows = Flows.of(self._source, self._target, transport, size=size, start=self._start, paths=self._paths)
        simulation = Simulation(self._network, [flows])
        seconds = processor_time(simulation.run)
        return _Run(seconds, float(simulation.flow_results().finished.max()))

    def in_htsim(self, peer: HtsimProgram) -> HtsimResult:
        """Run it in csg-htsim."""
        hosts = set(self._network.hosts)
        queues = [
            (_UNLIMITED, _UNLIMITED) if link.source in hosts else (_LIMIT, _THRESHOLD) for link in self._network.links
        ]
        starts = picoseconds(self._start).tolist()
        flows = [HtsimFlow(start, self._packets, *paths) for start, paths in zip(starts, self._paths, strict=True)]
        links = HtsimLinks(round(_RATE * 1e6), int(picoseconds(_DELAY)), queues)
        return peer.run(links, flows, _PAYLOAD + _HEADER)
