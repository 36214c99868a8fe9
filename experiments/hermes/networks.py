"""The paper's two networks: the testbed of 12 servers and the simulated one of 128, symmetric and not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulator.packet.network import Network
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.traffic.load import Load
from simulator.packet.traffic.patterns import Random
from simulator.portable_random import Draws

PACKET = 1500
"""Bytes of a full packet, the unit of the paper's thresholds and buffers."""

_SLOW_LINKS = 101
"""Stream of random numbers, apart from those of the traffic."""


@dataclass(frozen=True)
class Fabric:
    """A leaf-spine network.

    Attributes:
        name: for titles.
        leaves: number of leaves.
        spines: number of spines.
        leaf_hosts: hosts at each leaf.
        rate: Mbit/s of every link.
        cables: parallel cables from each leaf to each spine.
        delay: seconds of every link.
        marked_from: bytes that wait at a port when packets are marked.
        buffer: bytes that may wait at a port.
        cut: leaves and spines, by place, that have one cable less between them.
        slow: leaves and spines, by place, that have slow cables between them under every seed.
        slow_share: share of the cables between leaves and spines that are slow as well, drawn by the seed.
        slow_rate: Mbit/s.
    """

    name: str
    leaves: int
    spines: int
    leaf_hosts: int
    rate: float
    cables: int
    delay: float
    marked_from: int
    buffer: int = 600 * PACKET
    cut: tuple[tuple[int, int], ...] = ()
    slow: tuple[tuple[int, int], ...] = ()
    slow_share: float = 0.0
    slow_rate: float = 2_000.0

    @property
    def hosts(self) -> int:
        return self.leaves * self.leaf_hosts

    @property
    def pattern(self) -> Random:
        """Random senders, and receivers under another leaf."""
        return Random(self.leaf_hosts)

    def load(self, part: float) -> Load:
        """Return a load relative to the links between leaves and spines of the symmetric network."""
        return Load(part * self.spines * self.cables / self.leaf_hosts)

    def offered(self, part: float) -> float:
        """Return the bytes of payload that arrive in a second at this load."""
        return part * self.leaves * self.spines * self.cables * self.rate * 1e6 / 8

    def leaf(self, place: int) -> int:
        """Return the node of a leaf."""
        return self.hosts + place

    def spine(self, place: int) -> int:
        """Return the node of a spine."""
        return self.hosts + self.leaves + place

    def network(self, seed: int) -> Network:
        """Return the network; the seed draws slow cables, both directions of a cable alike."""
        queueing = Fifo(self.buffer, Threshold(self.marked_from))
        network = Network()
        hosts = [network.add_host() for _ in range(self.hosts)]
        for _ in range(self.leaves + self.spines):
            network.add_switch()
        for host in hosts:
            leaf = self.leaf(host // self.leaf_hosts)
            network.connect((host, leaf), self.rate, self.delay)
            network.connect((leaf, host), self.rate, self.delay, queueing=queueing)
        cables = [
            (leaf, spine)
            for leaf in range(self.leaves)
            for spine in range(self.spines)
            for cable in range(self.cables)
            if cable >= self.cut.count((leaf, spine))
        ]
        order = Draws(seed, _SLOW_LINKS).shuffled(len(cables)).tolist()
        slow = set(order[: round(self.slow_share * len(cables))])
        for number, (leaf, spine) in enumerate(cables):
            rate = self.slow_rate if number in slow or (leaf, spine) in self.slow else self.rate
            for ends in ((self.leaf(leaf), self.spine(spine)), (self.spine(spine), self.leaf(leaf))):
                network.connect(ends, rate, self.delay, queueing=queueing)
        return network

    def mistaken_rates(self) -> tuple[float, ...]:
        """Return the Mbit/s of all links as the authors' public simulation presumes them for the weights of Presto*.

        It notes a slow cable under both orders of its ends: where that from leaf 1 to spine 2 is slow, it takes that
        from leaf 2 to spine 1 to be.
        """
        noted = {*self.slow, *((spine, leaf) for leaf, spine in self.slow)}
        rates = []
        for link in self.network(0).links:
            leaf, spine = sorted(end - self.hosts for end in (link.source, link.target))
            between = leaf >= 0 and spine >= self.leaves
            rates.append(self.slow_rate if between and (leaf, spine - self.leaves) in noted else link.rate)
        return tuple(rates)


TESTBED = Fabric("testbed of 12 hosts", 2, 2, 6, 1_000.0, 2, 12.5e-6, 30_000)
"""3:2 oversubscribed; the round trip of an empty network is 100 us."""

CUT_TESTBED = replace(TESTBED, cut=((1, 1),))
"""One of the eight cables cut."""

SIMULATED = Fabric("128 hosts", 8, 8, 16, 10_000.0, 1, 10e-6, 65 * PACKET)
"""2:1 oversubscribed; the round trip of an empty network is 80 us."""

UNEQUAL = replace(SIMULATED, slow_share=0.2)
"""A fifth of the links between leaves and spines has 2 Gbit/s."""

PUBLIC_UNEQUAL = replace(SIMULATED, slow=((0, 3), (2, 4), (3, 7), (4, 6), (5, 3), (6, 0), (6, 2), (7, 4)))
"""The slow cables of the authors' public simulation, whose option calls each of the 64 slow with probability a fifth.

It draws them by C's `rand` before it sets the seed, so that all its runs under Linux have the same eight.
"""
