"""One network in both simulators: the links of a graph have the same numbers in each."""

from __future__ import annotations

import numpy as np

from hedera.network.fat_tree import FatTree
from simulator.flow.model import FluidFlows, share
from simulator.packet.flows import Flows
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import of_graph
from simulator.packet.transports import Congestion, Tcp

TREE = FatTree(4, 1_000.0)
HOSTS = [f"h{host}" for host in range(TREE.hosts)]
DCTCP = Tcp(congestion=Congestion.DCTCP, min_timeout=1e-3, first_timeout=1e-3)


def test_a_path_of_the_scheduler_is_a_path_of_packets() -> None:
    network = of_graph(TREE.topology, HOSTS, Fifo(40_000), delay=1e-6)
    assert network.hosts == list(range(TREE.hosts))
    ends = [(network.links[link].source, network.links[link].target) for link in TREE.path(1, 14, 2)]
    assert (ends[0][0], ends[-1][1]) == (1, 14)
    assert [target for _, target in ends[:-1]] == [source for source, _ in ends[1:]]
    assert all(link.rate == 1_000.0 and link.delay == 1e-6 for link in network.links)


def test_packets_share_a_fat_tree_as_fluid_does() -> None:
    """Flows that meet at a core switch, and one that is alone, get the same rates in both within 8 per cent."""
    ways = [(0, 13, 0), (4, 14, 0), (8, 2, 1), (12, 6, 2)]
    fluid = share(TREE.capacity, FluidFlows.of([TREE.path(*way) for way in ways], np.inf)).goodput
    network = of_graph(TREE.topology, HOSTS, Fifo(100_000, Threshold(30_000)), delay=1e-6)
    paths = [(TREE.path(there, back, label), TREE.path(back, there, label)) for there, back, label in ways]
    source, target, _ = zip(*ways, strict=True)
    simulation = Simulation(network, [Flows.of(source, target, DCTCP, paths=paths)])
    simulation.run(0.01)
    before = simulation.flow_results().goodput.copy()
    simulation.run(0.06)
    packets = (simulation.flow_results().goodput - before) * 8 / 0.05 / 1e6
    assert fluid.tolist() == [500.0, 500.0, 1_000.0, 1_000.0]
    np.testing.assert_allclose(packets * 1_500 / 1_460, fluid, rtol=0.08)
