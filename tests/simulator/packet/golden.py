"""Seeded scenes and a digest of all their results: `python -m tests.simulator.packet.golden` writes golden.json."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulator.packet import _core
from simulator.packet.flows import Flows
from simulator.packet.queues import (
    Crosspoints,
    Fifo,
    HashedCredits,
    Queueing,
    Red,
    RoundRobin,
    StrictPriority,
    Threshold,
    TokenBucket,
)
from simulator.packet.scenario import Outage, Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import LeafSpine
from simulator.packet.transports import Congestion, ConstantRate, Packets, Tcp

FILE = Path(__file__).with_name("golden.json")

_LATER = {"reordered"}
"""Results that did not exist when the digests were taken."""

_FIFO = Fifo(30_000, Threshold(9_000))

QUEUEINGS: dict[str, Queueing] = {
    "tail": Fifo(20_000),
    "threshold": _FIFO,
    "red": Fifo(40_000, Red(5_000, 30_000, 0.1, 0.01)),
    "random": Fifo(30_000, Threshold(9_000), random_drop=True, random_mark=True, cell=64),
    "shaped": Fifo(30_000, Red(3_000, 20_000), shaping=TokenBucket(300.0, 4_500)),
    "priority": StrictPriority([Fifo(9_000), _FIFO, Fifo(15_000, random_drop=True)]),
    "turns": RoundRobin([_FIFO, Fifo(9_000), Fifo(20_000, shaping=TokenBucket(100.0, 3_000))], [3, 1, 2]),
    "crosspoints": Crosspoints(Fifo(6_000, Threshold(2_400), random_drop=True, random_mark=True, cell=64)),
    "credits": HashedCredits(Fifo(12_000, Threshold(6_000)), 7, 2, 1e-4),
}

TCPS: dict[str, Tcp] = {
    "newreno": Tcp(congestion=Congestion.NEW_RENO, sack=False, min_timeout=1e-3, first_timeout=0.01, nic_packets=0),
    "cubic": Tcp(congestion=Congestion.CUBIC, min_timeout=2e-3, first_timeout=2e-3, handshake=True, ack_every=2),
    "dctcp": Tcp(congestion=Congestion.DCTCP, min_timeout=1e-3, first_timeout=1e-3, ack_every=2, ack_delay=5e-4),
    "vegas": Tcp(congestion=Congestion.VEGAS, min_timeout=1e-3, first_timeout=0.01),
    "copa": Tcp(congestion=Congestion.COPA, min_timeout=1e-3, first_timeout=0.01, handshake=True),
    "bbr": Tcp(congestion=Congestion.BBR, min_timeout=1e-3, bbr_round_trip_window=0.01, bbr_probe=2e-3, ack_every=2),
}


def scenes() -> Iterator[tuple[str, Simulation]]:
    """Yield every queueing under every congestion control, with constant rates and listed packets beside."""
    for queue, queueing in QUEUEINGS.items():
        for control, tcp in TCPS.items():
            yield f"{queue}-{control}", _scene(queueing, tcp, len(queue) * 100 + len(control))


def digest(simulation: Simulation) -> str:
    """Run the simulation in steps; return a digest of all that can be read of it at each."""
    found = hashlib.sha256()
    for until in (0.002, 0.0111, 0.03, 0.1):
        simulation.run(until)
        totals = simulation.totals()
        numbers = [totals.made, totals.arrived, totals.dropped, totals.lost, totals.data_arrived, totals.in_flight]
        found.update(np.array([*numbers, simulation.unfinished], np.int64).tobytes())
        results = (simulation.flow_results(), simulation.link_results(), simulation.flow_states())
        for name, column in (item for result in results for item in vars(result).items()):
            if name not in _LATER:
                found.update(np.ascontiguousarray(column).tobytes())
    for column in simulation.probes():
        found.update(np.ascontiguousarray(column).tobytes())
    return found.hexdigest()[:16]


def _scene(queueing: Queueing, tcp: Tcp, seed: int) -> Simulation:
    network = LeafSpine(3, 2, 4, 1_000.0, 700.0, 2e-6).network(queueing)
    network.links[20] = replace(network.links[20], loss=0.01)
    random = _core.Random(seed)

    def whole(bound: int, count: int) -> NDArray[np.int64]:
        return random.whole(bound, count).astype(np.int64)

    source = whole(12, 40)
    flows = [
        Flows.of(
            source,
            (source + 1 + whole(11, 40)) % 12,
            tcp,
            size=1 + whole(150_000, 40),
            start=whole(10_000, 40) * 1e-6,
            level=whole(4, 40),
        ),
        Flows.of([0, 5], [7, 2], tcp, start=[0.0, 0.001], level=[1, 0]),
        Flows.of([1, 2, 8], [6, 11, 3], ConstantRate(77.7, 900), size=[0, 50_000, 1_000_000], level=[0, 1, 2]),
        Flows.of(
            [3, 4],
            [9, 0],
            Packets((np.cumsum(whole(90_000, 60)) * 1e-9).astype(np.float64), 40 + whole(1_400, 60), ecn=True),
        ),
    ]
    outages = [Outage(25, 0.004, 0.001, 0.009), Outage(3, 0.0071, 0.0, 0.0083)]
    return Simulation(network, flows, Setting(seed=seed, outages=outages, probed=[24, 27, 30], probe_every=1e-3))


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: digest(simulation) for name, simulation in scenes()}, indent=1) + "\n")
