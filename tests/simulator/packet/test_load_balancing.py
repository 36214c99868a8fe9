"""Packets divided among paths: by the switches, by the senders."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from simulator.packet import _core
from simulator.packet.flows import Flows
from simulator.packet.load_balancing import LOAD_BALANCERS, FlowCells, Flowlets, LoadBalancer, SwitchEcmp
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.scenario import Outage, Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import LeafSpine, fat_tree
from simulator.packet.transports import Congestion, Packets, Tcp
from tests.simulator.packet.disciplines import mixed
from tests.simulator.packet.scenes import require_conserved

QUEUE = Fifo(40_000, Threshold(15_000))
FABRIC = LeafSpine(2, 4, 4, 1_000.0, 1_000.0, 1e-6)
SPINES = 4


def uplinks(network: Network) -> list[int]:
    """The links from the first leaf to the spines."""
    leaf = len(network.hosts)
    return [link for link in network.outputs[leaf] if network.links[link].target not in network.hosts]


def tcp_flows(hosts: int, seed: int) -> Flows:
    random = np.random.default_rng(seed)
    source = random.integers(0, hosts, 60)
    target = (source + random.integers(1, hosts, 60)) % hosts
    tcp = Tcp(congestion=Congestion.DCTCP, min_timeout=1e-3, first_timeout=1e-3)
    return Flows.of(source, target, tcp, size=random.integers(1, 200_000, 60), start=random.uniform(0, 5e-3, 60))


@pytest.mark.parametrize("network", [FABRIC.network(QUEUE), fat_tree(4, 1_000.0, 1e-6, QUEUE)], ids=["leaves", "tree"])
def test_switches_that_hash_do_as_paths_by_hash_to_the_bit(network: Network) -> None:
    results = []
    for name in ("fixed", "ecmp"):
        setting = Setting(seed=3, load_balancer=LOAD_BALANCERS[name])
        simulation = Simulation(network, [tcp_flows(len(network.hosts), 1)], setting)
        simulation.run()
        results.append([*astuple(simulation.flow_results()), *astuple(simulation.link_results())])
    assert all((one == other).all() for one, other in zip(*results, strict=True))


def test_packets_in_turn_take_all_paths_equally() -> None:
    network = FABRIC.network(QUEUE)
    flow = Flows.of(0, 5, Packets(np.linspace(0, 1e-2, 403), np.full(403, 1_000)))
    simulation = Simulation(network, [flow], Setting(load_balancer=LOAD_BALANCERS["round-robin"]))
    simulation.run()
    assert sorted(simulation.link_results().sent_packets[uplinks(network)].tolist()) == [100, 101, 101, 101]


def test_cells_of_a_flow_change_its_path_after_their_size() -> None:
    network = FABRIC.network(QUEUE)
    flow = Flows.of(0, 5, Packets(np.linspace(0, 1e-2, 90), np.full(90, 1_000)))
    balancer = LoadBalancer(choice=FlowCells(10_000))
    simulation = Simulation(network, [flow], Setting(load_balancer=balancer))
    taken = []
    for until in np.linspace(0, 1e-2, 90) + 5e-5:
        simulation.run(until)
        taken.append(simulation.link_results().sent_packets[uplinks(network)].copy())
    changes = np.diff(np.array(taken), axis=0).argmax(axis=1)
    assert np.count_nonzero(np.diff(changes)) == 8
    assert [len(set(changes[9 + 10 * cell : 19 + 10 * cell].tolist())) for cell in range(8)] == [1] * 8


def test_random_paths_are_all_taken() -> None:
    network = FABRIC.network(QUEUE)
    flow = Flows.of(0, 5, Packets(np.linspace(0, 1e-2, 400), np.full(400, 1_000)))
    simulation = Simulation(network, [flow], Setting(load_balancer=LOAD_BALANCERS["random"]))
    simulation.run()
    sent = simulation.link_results().sent_packets[uplinks(network)]
    assert sent.sum() == 400
    assert sent.min() > 70


def test_flowlets_do_as_the_reference_does() -> None:
    """The first leaf draws a path whenever a packet comes more than the gap after the one before."""
    network = FABRIC.network(QUEUE)
    times = np.cumsum(np.random.default_rng(4).choice([2e-5, 9e-5, 1.2e-4, 5e-4], 300))
    flow = Flows.of(0, 5, Packets(times, np.full(300, 1_000)))
    simulation = Simulation(network, [flow], Setting(seed=7, load_balancer=LoadBalancer(forwarding=Flowlets(1e-4))))
    simulation.run()
    draws = iter(_core.Random(mixed(7 + 0x666C6F776C657473)).whole(SPINES, 300).tolist())
    counts = [0] * SPINES
    now, path = -1.0, 0
    for time in times:
        path = next(draws) if now < 0 or time - now > 1e-4 else path
        now = time
        counts[path] += 1
    assert simulation.link_results().sent_packets[uplinks(network)].tolist() == counts


@pytest.mark.parametrize("name", LOAD_BALANCERS)
def test_flows_go_on_around_a_link_once_its_failure_is_known(name: str) -> None:
    network = FABRIC.network(QUEUE)
    failed = uplinks(network)[2]
    outage = Outage(failed, 1e-3, detected=1e-3)
    setting = Setting(outages=[outage], load_balancer=LOAD_BALANCERS[name])
    simulation = Simulation(network, [tcp_flows(8, 2)], setting)
    simulation.run(2.1e-3)
    sent = simulation.link_results().sent_packets[failed]
    simulation.run()
    require_conserved(simulation)
    assert simulation.unfinished == 0
    assert simulation.link_results().sent_packets[failed] == sent


def test_a_packet_that_no_switch_can_forward_is_lost() -> None:
    network = LeafSpine(2, 1, 1, 1_000.0, 1_000.0, 1e-6).network(QUEUE)
    flow = Flows.of(0, 1, Packets(np.array([0.0, 1e-3]), np.array([1_000, 1_000])))
    setting = Setting(outages=[Outage(4, 5e-4)], load_balancer=LoadBalancer(forwarding=SwitchEcmp()))
    simulation = Simulation(network, [flow], setting)
    simulation.run()
    require_conserved(simulation)
    assert (simulation.totals().arrived, simulation.totals().lost) == (1, 1)
