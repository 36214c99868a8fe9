"""A data centre of the packet model: hosts, switches with their tables, TCP flows, and the scheduler, if any."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.hedera.alternatives import centre_of
from experiments.hedera.packet.control_loop import ControlLoop, Counted, Timing
from experiments.hedera.packet.forwarding import Forwarding, reverse_of
from experiments.hedera.packet.options import PacketOptions
from experiments.hedera.testbed_cases import ECMP, NON_BLOCKING, ONE_TREE
from hedera.placement.registry import make_placement
from hedera.scheduling.elephant_schedule import ElephantSchedule
from hedera.scheduling.polling import TCP, FlowKey
from hedera.scheduling.tables import Routing
from simulator.packet.faults import with_rates
from simulator.packet.flows import ENDLESS, Flows
from simulator.packet.queues import Fifo
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import of_graph

_SERVER_PORT = 5001
UNSCHEDULED = (NON_BLOCKING, ONE_TREE, ECMP)
"""Schemes without a scheduler."""


class PacketNetwork:
    """The network of a scheme, and the flows that have been added to it.

    Attributes:
        keys: of the flows, in the order of their numbers.
        loop: the scheduler; None without one.
    """

    def __init__(
        self, scheme: str, ports: int, nic_rate: float, period: float, options: PacketOptions, seed: int
    ) -> None:
        centre = centre_of(scheme, ports, nic_rate)
        sites = centre.wiring.sites
        names = [site.name for site in sites]
        queueing = Fifo(limit=round(1000 * options.buffer))
        hosts = np.flatnonzero(~centre.fabric.inner).tolist()
        network = with_rates(
            of_graph(centre.topology, names, queueing, delay=1e-6 * options.delay),
            dict.fromkeys(hosts, options.host_part * nic_rate),
        )
        routing = Routing(centre)
        self.simulation = Simulation(network, [], Setting(seed=seed))
        self.keys: list[FlowKey] = []
        self.loop: ControlLoop | None = None
        self._addresses = [site.address for site in sites]
        self._transport = options.transport
        self._forwarding = Forwarding(centre, routing, seed)
        if scheme not in UNSCHEDULED:
            schedule = ElephantSchedule(centre, make_placement(scheme), routing)
            timing = Timing(period, 1e-3 * options.message_delay)
            self.loop = ControlLoop(self.simulation, centre, self._forwarding, schedule, timing)

    def add(
        self, ends: Sequence[tuple[int, int]], ports: Sequence[int], starts: Sequence[float], size: int = ENDLESS
    ) -> range:
        """Add flows between hosts, each with its source port and start in seconds; return their numbers."""
        keys = [
            FlowKey(self._addresses[source], self._addresses[target], TCP, port, _SERVER_PORT)
            for (source, target), port in zip(ends, ports, strict=True)
        ]
        ways = [(self._forwarding.path(key, {}), self._forwarding.path(reverse_of(key), {})) for key in keys]
        source, target = np.array(ends, np.int64).reshape(-1, 2).T
        flows = Flows.of(source, target, self._transport, size=size, start=starts, paths=ways)
        numbers = self.simulation.add_flows(flows)
        self.keys += keys
        if self.loop is not None:
            for number, key, (way, _), start in zip(numbers, keys, ways, starts, strict=True):
                self.loop.count(key, Counted(number, start, self._transport.largest_packet), way)
        return numbers

    def label_of(self, ends: tuple[int, int], port: int, labels: Sequence[tuple[int, ...]]) -> int:
        """Return the first of these paths, given by label, on which the hash sends a flow."""
        source, target = (self._addresses[host] for host in ends)
        return labels.index(self._forwarding.path(FlowKey(source, target, TCP, port, _SERVER_PORT), {}))
