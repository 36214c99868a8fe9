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


@dataclass(frozen=True)
class Conditions:
    """Whatever all switches and hosts of a network have in common.

    Attributes:
        marks: True if queues mark packets that are capable of ECN.
        cell: bytes of a crosspoint's cell.
        packet: bytes of the largest packet, for which a crosspoint always has room.
        host_queue: most packets that wait in front of a host's link; None for no limit.
    """

    marks: bool = False
    cell: int = 1
    packet: int = 1500
    host_queue: int | None = None

    def at_hosts(self) -> Fifo | None:
        """Return the queue in front of a host's link; None for one that never overflows."""
        return None if self.host_queue is None else Fifo(self.host_queue * self.packet)


NOTHING_SPECIAL = Conditions()


def queueing(scheme: str, output: int, ports: int, conditions: Conditions = NOTHING_SPECIAL) -> Queueing:
    """Return the queues in front of each output of a switch: one, two, or one for every input port.

    They have `output` bytes together. A packet occupies its crosspoint until it has left.
    """
    if scheme == "oq":
        return _queue(output, conditions)
    if scheme == "hcf":
        return HashedCredits(_queue(output // 2, conditions))
    random = scheme == "cqrd"
    cell = conditions.cell
    size = max(output // ports, -(-conditions.packet // cell) * cell)
    crosspoint = Fifo(size, _marking(size, conditions), random_drop=random, random_mark=random, cell=cell)
    return Crosspoints(crosspoint, held_while_sent=True)


def _queue(size: int, conditions: Conditions) -> Fifo:
    return Fifo(size, _marking(size, conditions))


def _marking(size: int, conditions: Conditions) -> Threshold | None:
    return Threshold(int(MARKED_FROM * size)) if conditions.marks else None


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

    def network(self, conditions: Conditions = NOTHING_SPECIAL) -> Network:
        queues = queueing(self.scheme, self.total // self.ports, self.ports, conditions)
        return single_switch(self.ports, self.rate, self.delay, queues, conditions.at_hosts())


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

    def network(self, conditions: Conditions = NOTHING_SPECIAL) -> Network:
        network = Network()
        hosts = [network.add_host() for _ in range(len(self.racks) * self.HOSTS)]
        racks = [network.add_switch() for _ in self.racks]
        aggregations = [network.add_switch() for _ in range(self.AGGREGATIONS)]
        ports = self.HOSTS + self.AGGREGATIONS
        output = self.output or self.RACK_MEMORY // ports
        in_racks = {scheme: queueing(scheme, output, ports, conditions) for scheme in dict.fromkeys(self.racks)}
        output = self.output or self.AGGREGATION_MEMORY // len(racks)
        above = queueing(self.aggregation, output, len(racks), conditions)
        for host in hosts:
            rack = host // self.HOSTS
            network.connect((host, racks[rack]), self.HOST_RATE, self.DELAY, queueing=conditions.at_hosts())
            network.connect((racks[rack], host), self.HOST_RATE, self.DELAY, queueing=in_racks[self.racks[rack]])
        for rack, scheme in zip(racks, self.racks, strict=True):
            for aggregation in aggregations:
                network.connect((rack, aggregation), self.FABRIC_RATE, self.DELAY, queueing=in_racks[scheme])
                network.connect((aggregation, rack), self.FABRIC_RATE, self.DELAY, queueing=above)
        return network
