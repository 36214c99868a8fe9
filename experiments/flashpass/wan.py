"""The WAN of the papers' dynamic experiments, three data centres, and one run of flows over it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.flashpass.schemes import Scheme
from simulator.flow_sizes.distribution import FlowSizes
from simulator.flow_sizes.published import published_flow_sizes
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.traffic.load import Load
from simulator.packet.traffic.patterns import Random
from simulator.packet.traffic.workload import Workload

HOSTS = 20
"""Hosts in each data centre."""

HOST_RATE, WAN_RATE = 1_000.0, 10_000.0
HOST_DELAY = 1e-5
DELAYS = {(0, 1): 0.04, (0, 2): 0.03, (1, 2): 0.02}
"""Seconds one way between two data centres."""

SMALL = 10_000_000
"""Bytes below which a flow is small."""

_PATIENCE = 60.0
"""Simulated seconds after the last start; a flow that takes longer counts as unfinished."""


def wan() -> Network:
    """Return hosts at three border routers, data centre by data centre, and the links between these."""
    network = Network()
    hosts = [network.add_host() for _ in range(3 * HOSTS)]
    routers = [network.add_switch() for _ in range(3)]
    for host in hosts:
        network.connect((host, routers[host // HOSTS]), HOST_RATE, HOST_DELAY)
        network.connect((routers[host // HOSTS], host), HOST_RATE, HOST_DELAY)
    for (one, other), delay in DELAYS.items():
        network.connect((routers[one], routers[other]), WAN_RATE, delay)
        network.connect((routers[other], routers[one]), WAN_RATE, delay)
    return network


@dataclass(frozen=True)
class Case:
    """A run over the WAN.

    Attributes:
        scheme: transport and queues.
        load: of hosts' links; those between data centres have the same.
        flows: their number.
        size: bytes of every flow; None for the sizes of the WAN of Alibaba.
    """

    load: float
    flows: int
    seed: int
    scheme: Scheme = field(default_factory=lambda: Scheme.of("flashpass"))
    size: int | None = None

    def drawn(self, network: Network) -> Flows:
        """Return the flows, the same under every scheme."""
        sizes = published_flow_sizes("wan-alibaba") if self.size is None else FlowSizes.of_one(self.size)
        workload = Workload(sizes, Load(self.load), self.flows, pattern=Random(HOSTS))
        return workload.drawn(network, self.scheme.transport, self.seed)


def outcome(ready: None, case: Case) -> dict[str, Any]:
    """Return completion times in milliseconds by size, and what became of packets and credits, as JSON data."""
    del ready
    network = case.scheme.on(wan())
    flows = case.drawn(network)
    simulation = Simulation(network, [flows], Setting(seed=case.seed))
    simulation.complete(float(flows.start.max()) + _PATIENCE)
    results, credited = simulation.flow_results(), simulation.credit_results()
    ended = np.isfinite(results.completion)
    milliseconds = 1e3 * results.completion
    small = ended & (flows.size < SMALL)
    large = ended & (flows.size >= SMALL)
    found: dict[str, Any] = {
        "small average": _mean(milliseconds[small]),
        "small 99th": float(np.percentile(milliseconds[small], 99)) if small.any() else None,
        "large average": _mean(milliseconds[large]),
        "all average": _mean(milliseconds[ended]),
        "unfinished": int((~ended).sum()),
        "dropped": int(results.dropped.sum()),
        "sent": int(results.sent.sum()),
        "offered": int(credited.offered.sum()),
        "credits": int(credited.credits.sum()),
        "unused": int(credited.unused.sum()),
        "allocated": simulation.totals().allocated,
    }
    return found


def _mean(values: np.ndarray[Any, np.dtype[np.float64]]) -> float | None:
    return float(values.mean()) if values.size else None
