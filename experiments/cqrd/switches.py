"""The four switches that the papers compare, and their networks."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.packet.network import Network
from simulator.packet.queues import Crosspoints, Fifo, HashedCredits, Queueing, Threshold
from simulator.packet.topologies import single_switch

SWITCHES = {
    "cqrd": "CQRD",
    "cq": "CQ",
    "hcf": "HCF",
    "oq": "OQ",
}
"""Crosspoints with random drop, crosspoints with tail drop, Hashed Credits Fair, and output queues."""

MARKED_FROM = 0.4
"""Marking threshold as a share of a queue's capacity, for all switches (journal, section 6.6)."""


PACKET = 1500
"""Smallest size of a crosspoint in bytes: one packet."""


@dataclass(frozen=True)
class Memory:
    """Memory of a switch in front of each output.

    Attributes:
        output: bytes of all queues of an output together.
        marks: True if queues mark packets that are capable of ECN.
        cell: bytes of a crosspoint's cell.
    """

    output: int
    marks: bool = False
    cell: int = 1


def queueing(scheme: str, memory: Memory, ports: int) -> Queueing:
    """Return the queues in front of each output of a switch: one, two, or one for every input port."""
    if scheme == "oq":
        return _queue(memory.output, memory)
    if scheme == "hcf":
        return HashedCredits(_queue(memory.output // 2, memory))
    random = scheme == "cqrd"
    size = max(memory.output // ports, -(-PACKET // memory.cell) * memory.cell)
    crosspoint = Fifo(size, _marking(size, memory), random_drop=random, random_mark=random, cell=memory.cell)
    return Crosspoints(crosspoint)


def _queue(size: int, memory: Memory) -> Fifo:
    return Fifo(size, _marking(size, memory))


def _marking(size: int, memory: Memory) -> Threshold | None:
    return Threshold(int(MARKED_FROM * size)) if memory.marks else None


@dataclass(frozen=True)
class OneSwitch:
    """Experiment 1: an aggregation switch with 5 MB and a host at every port; the round-trip time is 16 us.

    Attributes:
        scheme: of the switch.
        total: bytes of memory.
    """

    scheme: str
    total: int = 5_000_000
    ports: int = 24
    rate: float = 10_000
    delay: float = 4e-6

    def network(self, *, marks: bool = False, cell: int = 1) -> Network:
        memory = Memory(self.total // self.ports, marks, cell)
        return single_switch(self.ports, self.rate, self.delay, queueing(self.scheme, memory, self.ports))


@dataclass(frozen=True)
class TwoTiers:
    """Experiments 2 to 5: 24 top-of-rack switches with 20 hosts each, all linked to two aggregation switches.

    Attributes:
        racks: the scheme of each top-of-rack switch.
        aggregation: the scheme of the aggregation switches.
        output: bytes in front of every output; None for 4 MB per top-of-rack switch and 5 MB per aggregation switch.
    """

    racks: tuple[str, ...]
    aggregation: str
    output: int | None = None

    HOSTS = 20
    AGGREGATIONS = 2
    HOST_RATE, FABRIC_RATE, DELAY = 1_000.0, 10_000.0, 2e-6
    RACK_MEMORY, AGGREGATION_MEMORY = 4_000_000, 5_000_000

    @classmethod
    def of(cls, scheme: str, racks: int = 24, output: int | None = None) -> TwoTiers:
        """Return the network with one scheme in all switches."""
        return cls((scheme,) * racks, scheme, output)

    def network(self, *, marks: bool = False, cell: int = 1) -> Network:
        network = Network()
        hosts = [network.add_host() for _ in range(len(self.racks) * self.HOSTS)]
        racks = [network.add_switch() for _ in self.racks]
        aggregations = [network.add_switch() for _ in range(self.AGGREGATIONS)]
        ports = self.HOSTS + self.AGGREGATIONS
        memory = Memory(self.output or self.RACK_MEMORY // ports, marks, cell)
        in_racks = {scheme: queueing(scheme, memory, ports) for scheme in dict.fromkeys(self.racks)}
        memory = Memory(self.output or self.AGGREGATION_MEMORY // len(racks), marks, cell)
        above = queueing(self.aggregation, memory, len(racks))
        for host in hosts:
            rack = host // self.HOSTS
            network.connect((host, racks[rack]), self.HOST_RATE, self.DELAY)
            network.connect((racks[rack], host), self.HOST_RATE, self.DELAY, queueing=in_racks[self.racks[rack]])
        for rack, scheme in zip(racks, self.racks, strict=True):
            for aggregation in aggregations:
                network.connect((rack, aggregation), self.FABRIC_RATE, self.DELAY, queueing=in_racks[scheme])
                network.connect((aggregation, rack), self.FABRIC_RATE, self.DELAY, queueing=above)
        return network
