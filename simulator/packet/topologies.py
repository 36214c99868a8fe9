"""Common networks of experiments; hosts come first and are numbered from 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.packet.network import Network
from simulator.packet.queues import Queueing
from te_solver.model.topology import Topology


def single_switch(
    hosts: int, rate: float, delay: float, queueing: Queueing, at_hosts: Queueing | None = None
) -> Network:
    """Return a network of hosts around one switch.

    Args:
        hosts: their number.
        rate: Mbit/s of each link.
        delay: seconds of each link.
        queueing: at the switch's outputs.
        at_hosts: at the hosts' outputs; by default a queue that never overflows.
    """
    network = _with_hosts(hosts)
    switch = network.add_switch()
    for host in range(hosts):
        network.connect((host, switch), rate, delay, queueing=at_hosts)
        network.connect((switch, host), rate, delay, queueing=queueing)
    return network


@dataclass(frozen=True)
class Bottleneck:
    """The link that all flows of a dumbbell cross.

    Attributes:
        rate: Mbit/s.
        delay: seconds.
        queueing: the queues at its output port.
        loss: probability that the link loses a packet.
    """

    rate: float
    delay: float
    queueing: Queueing
    loss: float = 0.0


def dumbbell(pairs: int, rate: float, delay: float, bottleneck: Bottleneck) -> Network:
    """Return hosts 0 to `pairs` - 1 on the left, as many on the right, and one link each way between two switches.

    The bottleneck is the link from left to right, the last but one; the reverse link drops and loses nothing.
    """
    network = _with_hosts(2 * pairs)
    left, right = network.add_switch(), network.add_switch()
    for host in range(2 * pairs):
        switch = left if host < pairs else right
        network.connect((host, switch), rate, delay)
        network.connect((switch, host), rate, delay)
    network.connect(
        (left, right), bottleneck.rate, bottleneck.delay, queueing=bottleneck.queueing, loss=bottleneck.loss
    )
    network.connect((right, left), bottleneck.rate, bottleneck.delay)
    return network


@dataclass(frozen=True)
class LeafSpine:
    """A leaf-spine network: every leaf is linked to every spine, and hosts to leaves.

    Attributes:
        host_rate: Mbit/s of hosts' links.
        fabric_rate: Mbit/s of the links between leaves and spines.
        delay: seconds of every link.
        cables: parallel cables between each leaf and each spine.
    """

    leaves: int
    spines: int
    hosts_per_leaf: int
    host_rate: float
    fabric_rate: float
    delay: float
    cables: int = 1

    def network(self, queueing: Queueing) -> Network:
        """Return the network with this queueing at all outputs of switches."""
        network = _with_hosts(self.leaves * self.hosts_per_leaf)
        leaves = [network.add_switch() for _ in range(self.leaves)]
        spines = [network.add_switch() for _ in range(self.spines)]
        for host in network.hosts:
            leaf = leaves[host // self.hosts_per_leaf]
            network.connect((host, leaf), self.host_rate, self.delay)
            network.connect((leaf, host), self.host_rate, self.delay, queueing=queueing)
        for leaf in leaves:
            for spine in spines:
                for ends in ((leaf, spine), (spine, leaf)) * self.cables:
                    network.connect(ends, self.fabric_rate, self.delay, queueing=queueing)
        return network


def fat_tree(ports: int, rate: float, delay: float, queueing: Queueing) -> Network:
    """Return a fat tree (Al-Fares et al., SIGCOMM 2008) with `ports`^3 / 4 hosts, numbered pod by pod.

    Switches have `ports` ports, an even number, and form as many pods. All links have this rate, Mbit/s, and delay,
    seconds; `queueing` is at all outputs of switches.
    """
    half = ports // 2
    network = _with_hosts(ports * half * half)
    cores = [[network.add_switch() for _ in range(half)] for _ in range(half)]

    def link(host_or_switch: int, switch: int, *, is_host: bool = False) -> None:
        network.connect((host_or_switch, switch), rate, delay, queueing=None if is_host else queueing)
        network.connect((switch, host_or_switch), rate, delay, queueing=queueing)

    for pod in range(ports):
        edges = [network.add_switch() for _ in range(half)]
        aggregations = [network.add_switch() for _ in range(half)]
        for place, edge in enumerate(edges):
            for host in range(half):
                link((pod * half + place) * half + host, edge, is_host=True)
            for aggregation in aggregations:
                link(edge, aggregation)
        for aggregation, group in zip(aggregations, cores, strict=True):
            for core in group:
                link(aggregation, core)
    return network


def of_graph(topology: Topology, hosts: Sequence[str], queueing: Queueing, *, delay: float = 0.0) -> Network:
    """Return the network of a graph, as the flow simulator and Hedera's scheduler have it: links keep their numbers.

    Args:
        topology: the graph; rates are its capacities.
        hosts: nodes at which flows begin and end, numbered in this order from 0; the other nodes follow in theirs.
        queueing: at all outputs of switches.
        delay: seconds of every link beside its own.
    """
    network = _with_hosts(len(hosts))
    numbers = {name: number for number, name in enumerate(hosts)}
    for node in topology.nodes:
        if node not in numbers:
            numbers[node] = network.add_switch()
    for link in topology.links:
        source = numbers[link.source]
        of_switch = None if source < len(hosts) else queueing
        network.connect((source, numbers[link.target]), link.capacity, delay + link.delay, queueing=of_switch)
    return network


def _with_hosts(hosts: int) -> Network:
    network = Network()
    for _ in range(hosts):
        network.add_host()
    return network
