"""Scenes for both the packet model and ns-3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchmarks.ns3.peer import Ns3Flow, Ns3Program, Ns3Result
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import Bottleneck, LeafSpine, dumbbell
from simulator.packet.transports import Congestion, Tcp

HEADER = 42
"""Bytes of IP and TCP headers without options, and two of ns-3's point-to-point links."""
PACKET = 1460 + HEADER

NS3_CONTROL = {
    Congestion.NEW_RENO: "TcpNewReno",
    Congestion.CUBIC: "TcpCubic",
    Congestion.DCTCP: "BoundedDctcp",
    Congestion.VEGAS: "TcpVegas",
    Congestion.BBR: "TcpBbr",
}
"""ns-3's classes; it has no Copa."""


@dataclass(frozen=True)
class Scene:
    """Flows of one congestion control over a dumbbell or a leaf-spine network.

    Attributes:
        congestion: congestion control of all flows.
        hosts: pairs of a dumbbell, or hosts of each leaf.
        fabric: leaves and spines; None for a dumbbell.
        host_rate: Mbit/s of hosts' links.
        rate: Mbit/s of the bottleneck or the links between leaves and spines.
        delay: seconds of every link.
        limit: packets that may wait.
        threshold: packets above which packets are marked; 0 for none.
        window: segments that a flow may have outstanding.
        ack_every: segments per acknowledgement.
        min_timeout: smallest retransmission timeout in seconds.
        least_window: smallest DCTCP window in segments after a mark; 0 is ns-3's own.
        warm_up: seconds before goodput and queues are measured.
        until: end in seconds.
    """

    congestion: Congestion
    flows: Sequence[Ns3Flow]
    hosts: int
    fabric: tuple[int, int] | None
    host_rate: float
    rate: float
    delay: float
    limit: int
    threshold: int
    window: int
    ack_every: int
    min_timeout: float
    warm_up: float
    until: float
    least_window: float = 2

    def in_ns3(self, program: Ns3Program) -> Ns3Result:
        leaves, spines = self.fabric or (0, 0)
        options = {
            "topology": "leaf-spine" if self.fabric else "dumbbell",
            "control": NS3_CONTROL[self.congestion],
            "leaves": leaves,
            "spines": spines,
            "hosts": self.hosts,
            "host-rate": self.host_rate,
            "rate": self.rate,
            "delay": self.delay,
            "host-delay": self.delay,
            "limit": self.limit,
            "threshold": self.threshold,
            "window": self.window,
            "ack-every": self.ack_every,
            "min-timeout": self.min_timeout,
            "least-window": self.least_window,
            "fast-convergence": self._fast_convergence,
            "warm-up": self.warm_up,
            "until": self.until,
        }
        return program.run(options, self.flows)

    def simulation(self) -> Simulation:
        source = np.array([flow.source for flow in self.flows])
        target = np.array([flow.target for flow in self.flows])
        network = self._network()
        pairs = zip(source.tolist(), target.tolist(), strict=True)
        paths = [(self._path(network, *pair), self._path(network, *pair[::-1])) for pair in pairs]
        size = [flow.size for flow in self.flows]
        start = [flow.start for flow in self.flows]
        return Simulation(network, [Flows.of(source, target, self._transport(), size=size, start=start, paths=paths)])

    def limited_links(self, network: Network) -> list[int]:
        """Return the links with limited queues, in the order of ns-3's output."""
        if self.fabric is None:
            return [len(network.links) - 2]
        return [number for number, link in enumerate(network.links) if link.source not in network.hosts]

    @property
    def _fast_convergence(self) -> bool:
        """RFC 9438 section 4.7: it should be disabled where a single flow of Cubic has the network for itself."""
        return len(self.flows) > 1

    def _network(self) -> Network:
        queue = Fifo(self.limit * PACKET, Threshold(self.threshold * PACKET) if self.threshold else None)
        if self.fabric is None:
            return dumbbell(self.hosts, self.host_rate, self.delay, Bottleneck(self.rate, self.delay, queue))
        return LeafSpine(*self.fabric, self.hosts, self.host_rate, self.rate, self.delay).network(queue)

    def _transport(self) -> Tcp:
        """Return TCP with ns-3's behaviour.

        Reno grows per acknowledgement, the others per acknowledged byte. Vegas rounds the number of waiting segments up
        to a whole one, so that its bounds of 3 and 3 are 2 and 3 here.
        """
        return Tcp(
            congestion=self.congestion,
            handshake=True,
            header=HEADER,
            receive_window=self.window,
            counting_limit=1 if self.congestion is Congestion.NEW_RENO else 1000,
            cubic_fast_convergence=self._fast_convergence,
            min_timeout=self.min_timeout,
            dctcp_least_window=self.least_window,
            vegas_alpha=2,
            vegas_beta=3,
            vegas_keeps=1,
            nic_packets=0,
            ack_every=self.ack_every,
        )

    def _path(self, network: Network, source: int, target: int) -> list[int]:
        """Return the links of a path; in a leaf-spine network the target selects the spine, as in ns-3's routes."""
        hosts = len(network.hosts)
        first, last = hosts + source // self.hosts, hosts + target // self.hosts
        nodes = [source, first, last, target]
        if first == last:
            nodes = [source, first, target]
        elif self.fabric is not None:
            nodes = [source, first, hosts + self.fabric[0] + target % self.fabric[1], last, target]
        return [_link(network, one, other) for one, other in pairwise(nodes)]


def _link(network: Network, source: int, target: int) -> int:
    return next(link for link in network.outputs[source] if network.links[link].target == target)


@dataclass(frozen=True, eq=False)
class ModelResult:
    """The results of the packet model, in the form of `Ns3Result`."""

    goodput: NDArray[np.float64]
    completion: NDArray[np.float64]
    queue: NDArray[np.float64]
    packets: int
    dropped: int


def measured(scene: Scene) -> ModelResult:
    """Run a scene in the packet model."""
    simulation = scene.simulation()
    limited = scene.limited_links(simulation.network)
    simulation.complete(scene.warm_up)
    goodput = simulation.flow_results().goodput
    queued = simulation.link_results().queued_byte_seconds
    simulation.complete(scene.until)
    results, links = simulation.flow_results(), simulation.link_results()
    passed = scene.until - scene.warm_up
    return ModelResult(
        (results.goodput - goodput) * 8 / passed / 1e6,
        np.where(np.isfinite(results.completion), results.completion, -1.0),
        (links.queued_byte_seconds - queued)[limited] / passed / PACKET,
        simulation.totals().data_arrived,
        int(links.dropped_packets.sum()),
    )
