"""The paper's networks of 12 servers and of 128, faults of a spine, and the load balancers compared on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from experiments.results.exhibit import Exhibit
from experiments.results.published import published_numbers
from simulator.packet.faults import BlackHole, RandomDrop, SwitchFault
from simulator.packet.flows import Flows
from simulator.packet.load_balancing import (
    HERMES_NS3,
    LOAD_BALANCERS,
    CloveEcn,
    Conga,
    Flowlets,
    Hermes,
    LoadBalancer,
    PathsInTurn,
)
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.scenario import Setting
from simulator.packet.traffic.load import Load
from simulator.packet.traffic.patterns import Random
from simulator.packet.transports import Congestion, Tcp
from simulator.portable_random import Draws

PACKET = 1500
"""Bytes of a full packet, the unit of the paper's thresholds and buffers."""

_SLOW_LINKS = 101
"""Stream of random numbers, apart from those of the traffic."""


@dataclass(frozen=True)
class LeafSpineFabric:
    """A leaf-spine network.

    Attributes:
        name: for titles.
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
        payload: part of the load that is payload; the rest are headers.
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
    payload: float = 1.0

    @property
    def hosts(self) -> int:
        return self.leaves * self.leaf_hosts

    @property
    def pattern(self) -> Random:
        """Random senders, and receivers under another leaf."""
        return Random(self.leaf_hosts)

    def load(self, part: float) -> Load:
        """Return a load relative to the links between leaves and spines of the symmetric network."""
        return Load(self.payload * part * self.spines * self.cables / self.leaf_hosts)

    def offered(self, part: float) -> float:
        """Return the bytes of payload that arrive in a second at this load."""
        return self.payload * part * self.leaves * self.spines * self.cables * self.rate * 1e6 / 8

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


TESTBED = LeafSpineFabric("testbed of 12 hosts", 2, 2, 6, 1_000.0, 2, 12.5e-6, 30_000)
"""3:2 oversubscribed; the round trip of an empty network is 100 us."""

CUT_TESTBED = replace(TESTBED, cut=((1, 1),))
"""One of the eight cables cut."""

PUBLIC_PAYLOAD = 1448 / (1500 + 14 + 4 + 8 + 12)
"""Part of the load that the generator of the authors' testbed sends as payload (TG_GOODPUT_RATIO in
https://github.com/HKUST-SING/TrafficGenerator, src/common/common.h)."""

SIMULATED = LeafSpineFabric("128 hosts", 8, 8, 16, 10_000.0, 1, 10e-6, 65 * PACKET)
"""2:1 oversubscribed; the round trip of an empty network is 80 us."""

UNEQUAL = replace(SIMULATED, slow_share=0.2)
"""A fifth of the links between leaves and spines has 2 Gbit/s."""

PUBLIC_UNEQUAL = replace(SIMULATED, slow=((0, 3), (2, 4), (3, 7), (4, 6), (5, 3), (6, 0), (6, 2), (7, 4)))
"""The slow cables of the authors' public simulation, whose option calls each of the 64 slow with probability a fifth.

It draws them by C's `rand` before it sets the seed, so that all its runs under Linux have the same eight.
"""


Item = TypeVar("Item")

_SPINE, _PAIRS = 102, 103
"""Streams of random numbers, apart from those of the traffic and the network."""


class Fault(ABC):
    """A fault of one spine, which the seed draws."""

    @abstractmethod
    def of(self, fabric: LeafSpineFabric, seed: int) -> SwitchFault:
        """Return the fault of a switch of this network."""

    def loses_data(self, fabric: LeafSpineFabric, seed: int, flows: Flows) -> NDArray[np.bool_]:
        """Return True for each flow whose data the spine may lose, not only its acknowledgements."""
        del fabric, seed
        return np.ones(flows.count, dtype=np.bool_)

    def on(self, setting: Setting, fabric: LeafSpineFabric) -> Setting:
        """Return the setting with the fault."""
        return replace(setting, faults=(self.of(fabric, setting.seed),))


@dataclass(frozen=True)
class Drops(Fault):
    """Silent drops of a part of all packets."""

    probability: float

    def of(self, fabric: LeafSpineFabric, seed: int) -> RandomDrop:
        return RandomDrop(_spine(fabric, seed), self.probability)


@dataclass(frozen=True)
class Hole(Fault):
    """A black hole for packets from hosts under the first leaf, data and acknowledgements alike.

    Attributes:
        part: of these packets' pairs of sender and receiver, drawn by the seed.
        wide: packets from this part of the senders to all hosts under other leaves, not of the pairs with hosts under
            the last leaf.
    """

    part: float = 0.5
    wide: bool = False

    def of(self, fabric: LeafSpineFabric, seed: int) -> BlackHole:
        senders, last = range(fabric.leaf_hosts), range(fabric.hosts - fabric.leaf_hosts, fabric.hosts)
        if self.wide:
            others = range(fabric.leaf_hosts, fabric.hosts)
            pairs = [(one, other) for one in self._chosen(list(senders), seed) for other in others]
        else:
            pairs = self._chosen([(one, other) for one in senders for other in last], seed)
        return BlackHole(_spine(fabric, seed), pairs)

    def loses_data(self, fabric: LeafSpineFabric, seed: int, flows: Flows) -> NDArray[np.bool_]:
        pairs = set(self.of(fabric, seed).pairs)
        return np.array([pair in pairs for pair in zip(flows.source.tolist(), flows.target.tolist(), strict=True)])

    def _chosen(self, of: list[Item], seed: int) -> list[Item]:
        order = Draws(seed, _PAIRS).shuffled(len(of)).tolist()
        return [of[place] for place in sorted(order[: round(self.part * len(of))])]


def _spine(fabric: LeafSpineFabric, seed: int) -> int:
    return fabric.spine(int(Draws(seed, _SPINE).whole(fabric.spines, 1)[0]))


PUBLISHED = published_numbers("hermes")
"""All published numbers; None stands for a value off the figure's scale or missing."""

packet_exhibit = partial(Exhibit, backend="packet", published=PUBLISHED["source"])
"""Returns an exhibit of simulated packets next to published numbers."""

NAMES = {
    "ecmp": "ECMP",
    "presto": "Presto*",
    "letflow": "LetFlow",
    "clove-ecn": "CLOVE-ECN",
    "conga": "CONGA",
    "hermes": "Hermes",
}

TIMEOUT = 0.01
"""Seconds of the first and the smallest retransmission timeout."""

FLOWLET, TESTBED_FLOWLET = 150e-6, 800e-6
"""Seconds of a pause between flowlets, in the simulation and on the testbed."""

TESTBED_CLOVE_PAUSE = 50e-6
"""Seconds between two reductions of a weight of CLOVE-ECN on the testbed: half a round trip."""

RESEQUENCING, PUBLIC_RESEQUENCING = 500e-6, 100e-6
"""Seconds that receivers with a resequencing buffer hold back segments behind a gap, and those of the public code."""

ALL_RESEQUENCING = 200e-6
"""Seconds of the public code's buffer where all receivers have it: those that fit Figure 16 (docs/hermes.md)."""

ONE_WAY = 40
"""Microseconds of the way from host to host in the empty simulated network, which the paper's thresholds contain."""

SIMULATED_HERMES = Hermes()
TESTBED_HERMES = Hermes(high=200e-6, better_round_trip=120e-6)
"""T_RTT_high is 300 us, 200 above the round trip of an empty network, in which acknowledgements do not wait."""


def is_slow(fabric: LeafSpineFabric) -> bool:
    """Return True for the testbed, whose thresholds are longer."""
    return fabric.rate < 10_000


def hermes_of(fabric: LeafSpineFabric, profile: str) -> Hermes:
    """Return the parameters of Hermes: with the profile `ns3` those of the authors' public simulation."""
    of_paper = TESTBED_HERMES if is_slow(fabric) else SIMULATED_HERMES
    return HERMES_NS3 if profile == "ns3" else of_paper


@dataclass(frozen=True)
class BalancingScheme:
    """A load balancer and the transport of all flows."""

    balancer: LoadBalancer
    transport: Tcp

    @classmethod
    def of(cls, name: str, fabric: LeafSpineFabric, profile: str = "paper") -> BalancingScheme:
        """Return the scheme of this name with the paper's parameters for this network.

        With the profile `ns3`, Hermes has the constants of the authors' public simulation, and Presto* its resequencing
        buffer, and its mistaken weights where it always has the same slow cables; but packets take turns one by one, as
        the paper says, not ten by ten. Acknowledgements under Hermes and CLOVE-ECN keep a path by hash. With the
        profile `buffer`, the receivers of all schemes have this buffer, and nothing else is changed.
        """
        slow = is_slow(fabric)
        gap = TESTBED_FLOWLET if slow else FLOWLET
        balancer, transport = LOAD_BALANCERS[name], transport_of(fabric)
        if name == "presto":
            transport = replace(transport, resequencing=RESEQUENCING)
            if profile == "ns3":
                rates = fabric.mistaken_rates() if fabric.slow else ()
                balancer = replace(balancer, choice=PathsInTurn(weighted=True, rates=rates))
                transport = replace(transport, resequencing=PUBLIC_RESEQUENCING, resequencing_stays=True)
        elif name == "letflow":
            balancer = replace(balancer, forwarding=Flowlets(gap))
        elif name == "conga":
            balancer = _conga(gap)
        elif name == "clove-ecn":
            pause = TESTBED_CLOVE_PAUSE if slow else CloveEcn.pause
            balancer = replace(balancer, choice=CloveEcn(gap, pause=pause, hashed_answers=profile == "ns3"))
        elif name == "hermes":
            balancer = replace(balancer, choice=hermes_of(fabric, profile))
        if profile == "buffer":
            transport = replace(transport, resequencing=ALL_RESEQUENCING, resequencing_stays=True)
        return cls(balancer, transport)

    @classmethod
    def conga(cls, gap: float, fabric: LeafSpineFabric, resequencing: float = 0.0) -> BalancingScheme:
        """Return CONGA with this flowlet gap, and receivers that hold back segments for so long, both in seconds."""
        return cls(_conga(gap), replace(transport_of(fabric), resequencing=resequencing))

    @classmethod
    def hermes(cls, choice: Hermes, fabric: LeafSpineFabric) -> BalancingScheme:
        """Return Hermes with these parameters."""
        return cls(replace(LOAD_BALANCERS["hermes"], choice=choice), transport_of(fabric))


def _conga(gap: float) -> LoadBalancer:
    return replace(LOAD_BALANCERS["conga"], forwarding=Conga(gap))


def transport_of(fabric: LeafSpineFabric) -> Tcp:
    """Return the transport of all flows; those of the testbed have connections that are there already."""
    return Tcp(
        Congestion.DCTCP,
        handshake=not is_slow(fabric),
        initial_window=10,
        first_timeout=TIMEOUT,
        min_timeout=TIMEOUT,
    )
