"""Faults of switches, slow and parallel cables, and runs in which flows never end."""

from __future__ import annotations

import numpy as np
import pytest

from kuijia_base.errors import UnsoundError
from simulator.packet.credited import EXPRESSPASS_PORTS, ExpressPass, FlashPass, Ports
from simulator.packet.faults import BlackHole, RandomDrop, SwitchFault, cables, with_rates
from simulator.packet.flows import Flows
from simulator.packet.load_balancing import LOAD_BALANCERS
from simulator.packet.network import Network
from simulator.packet.queues import Fifo
from simulator.packet.scenario import Outage, Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import LeafSpine
from simulator.packet.transports import Packets, Tcp
from tests.simulator.packet.scenes import require_conserved

TCP = Tcp(min_timeout=1e-3, first_timeout=1e-3)
LEAF, SPINE = 4, 6
"""The first of each in `fabric`."""


def fabric(spines: int = 1, cables_each: int = 1) -> Network:
    return LeafSpine(2, spines, 2, 1_000.0, 1_000.0, 1e-6, cables_each).network(Fifo())


def packets(source: int, target: int, count: int, start: float = 0.0) -> Flows:
    times = np.array([start + place * 1e-5 for place in range(count)])
    return Flows.of(source, target, Packets(times, np.full(count, 1_000)))


def run(network: Network, flows: list[Flows], faults: list[SwitchFault], name: str = "fixed") -> Simulation:
    simulation = Simulation(network, flows, Setting(3, load_balancer=LOAD_BALANCERS[name], faults=faults))
    simulation.run(patience=1.0)
    require_conserved(simulation)
    return simulation


@pytest.mark.parametrize("name", ["fixed", "ecmp", "conga", "labels"])
def test_a_switch_drops_its_share_of_packets_and_nobody_knows(name: str) -> None:
    simulation = run(fabric(), [packets(0, 2, 20_000)], [RandomDrop(SPINE, 0.02)], name)
    totals, results = simulation.totals(), simulation.flow_results()
    assert totals.swallowed == totals.lost == results.dropped[0]
    assert totals.unroutable == 0
    assert results.arrived[0] == 20_000 - totals.lost
    assert abs(totals.lost - 400) < 4 * np.sqrt(20_000 * 0.02 * 0.98)


def test_faults_have_a_beginning_and_an_end() -> None:
    """Packets come to the spine 18 us after they were sent: those sent from 0.4 ms - 18 us until 0.7 ms - 18 us."""
    simulation = run(fabric(), [packets(0, 2, 100)], [RandomDrop(SPINE, 1.0, begins=4e-4, ends=7e-4)])
    assert simulation.totals().swallowed == 30
    simulation = run(fabric(), [packets(0, 2, 100)], [BlackHole(SPINE, [(0, 2)], begins=4e-4, ends=7e-4)])
    assert simulation.totals().swallowed == 30


def test_a_black_hole_takes_all_packets_of_its_pairs_and_no_others() -> None:
    flows = [packets(0, 2, 50), packets(0, 3, 60), packets(2, 0, 70), packets(1, 2, 80)]
    results = run(fabric(), flows, [BlackHole(SPINE, [(0, 2), (1, 3)])]).flow_results()
    assert results.dropped.tolist() == [50, 0, 0, 0]
    assert results.arrived.tolist() == [0, 60, 70, 80]


def test_acknowledgements_that_a_black_hole_takes_keep_a_flow_from_its_end() -> None:
    """The packets from 2 to 0 are lost: data of the second flow, acknowledgements of the first."""
    flows = Flows.of([0, 2, 1], [2, 0, 3], TCP, size=5_000)
    simulation = run(fabric(), [flows], [BlackHole(SPINE, [(2, 0)])])
    results = simulation.flow_results()
    assert simulation.unfinished == 2
    assert np.isfinite(results.finished).tolist() == [True, False, True]
    assert np.isfinite(results.acknowledged).tolist() == [False, False, True]
    assert results.timeouts[:2].min() > 3


def test_what_else_is_drawn_does_not_depend_on_faults() -> None:
    network = LeafSpine(2, 1, 2, 1_000.0, 1_000.0, 1e-6).network(Fifo())
    lossy = Network()
    for node in range(network.nodes):
        lossy.add_host() if node in network.hosts else lossy.add_switch()
    for link in network.links:
        lossy.connect((link.source, link.target), link.rate, link.delay, loss=0.1)
    flows = [packets(0, 2, 500), packets(3, 1, 500)]
    empty_or_not: list[list[SwitchFault]] = [[], [BlackHole(SPINE, [(1, 3)])]]
    lost = [run(lossy, flows, faults).totals() for faults in empty_or_not]
    assert lost[0] == lost[1]


@pytest.mark.parametrize("name", ["fixed", "ecmp", "letflow", "conga", "round-robin"])
def test_flows_without_a_path_stay_unfinished_and_the_run_ends(name: str) -> None:
    """Both cables of the second leaf are cut: only flows at one leaf end."""
    network = fabric(2)
    outages = [
        Outage(link, 1e-4, detected=1e-4)
        for spine in (SPINE, SPINE + 1)
        for cable in cables(network, LEAF + 1, spine)
        for link in cable
    ]
    flows = Flows.of([0, 1, 2, 3, 0], [2, 3, 0, 2, 1], TCP, size=1_000_000, start=[0, 0, 0, 0, 2.0])
    simulation = Simulation(network, [flows], Setting(outages=outages, load_balancer=LOAD_BALANCERS[name]))
    assert simulation.run(patience=1.0)
    require_conserved(simulation)
    assert simulation.unfinished == 3
    assert np.isfinite(simulation.flow_results().finished).tolist() == [False, False, False, True, True]
    assert 3.0 <= simulation.now <= 5.0


@pytest.mark.parametrize("transport", [FlashPass(timeout=1e-3), ExpressPass(timeout=1e-3)], ids=["flash", "express"])
def test_a_run_of_transports_that_ask_for_ever_ends(transport: FlashPass | ExpressPass) -> None:
    network = (Ports() if isinstance(transport, FlashPass) else EXPRESSPASS_PORTS).on(fabric())
    flows = Flows.of([0, 1], [2, 3], transport, size=100_000)
    simulation = run(network, [flows], [BlackHole(SPINE, [(0, 2)])])
    assert simulation.unfinished == 1
    assert simulation.now <= 3.0


def test_a_run_waits_for_flows_and_repairs_that_are_still_to_come() -> None:
    flows = [Flows.of(0, 2, TCP, size=5_000), Flows.of(1, 3, TCP, size=5_000, start=9.0)]
    simulation = Simulation(fabric(), flows, Setting(faults=[RandomDrop(SPINE, 1.0, ends=12.0)]))
    assert simulation.run(patience=10.0)
    assert simulation.unfinished == 0
    assert simulation.flow_results().finished.min() > 12.0


def test_functions_that_are_due_later_keep_a_run_going() -> None:
    simulation = Simulation(fabric(), [Flows.of(0, 2, TCP, size=5_000)], Setting(faults=[BlackHole(SPINE, [(0, 2)])]))
    simulation.at(50.0, lambda: simulation.add_flows(Flows.of(1, 3, TCP, size=5_000, start=50.0)))
    assert simulation.run(patience=1.0)
    assert simulation.unfinished == 1
    assert 51.0 <= simulation.now <= 54.0


def test_a_link_that_fails_at_the_beginning_carries_nothing() -> None:
    network = fabric(2)
    cut = [link for cable in cables(network, LEAF, SPINE) for link in cable]
    for seed in range(20):
        setting = Setting(seed, [Outage(link, 0.0) for link in cut], load_balancer=LOAD_BALANCERS["ecmp"])
        simulation = Simulation(network, [packets(0, 2, 10), packets(3, 1, 10)], setting)
        simulation.run()
        assert (simulation.totals().arrived, simulation.totals().lost) == (20, 0)


@pytest.mark.parametrize("name", ["fixed", "ecmp", "letflow", "conga", "round-robin", "random"])
def test_parallel_cables_are_paths_of_their_own(name: str) -> None:
    network = fabric(2, 3)
    between = cables(network, LEAF, SPINE)
    assert len(between) == 3
    assert len({link for cable in between for link in cable}) == 6
    tcp_flows = Flows.of([0, 1] * 60, [2, 3] * 60, TCP, size=60_000, start=np.repeat(np.arange(60) * 1e-3, 2))
    simulation = run(network, [tcp_flows], [], name)
    assert simulation.unfinished == 0
    uplinks = [link for spine in (SPINE, SPINE + 1) for link, _ in cables(network, LEAF, spine)]
    assert simulation.link_results().sent_packets[uplinks].min() > 0


def test_slow_links_have_their_own_rate() -> None:
    network = fabric()
    (cable,) = cables(network, LEAF, SPINE)
    slow = with_rates(network, dict.fromkeys(cable, 200.0))
    assert [link.rate for link in slow.links].count(200.0) == 2
    took = [run(each, [Flows.of(0, 2, TCP, size=1_000_000)], []).flow_results().finished[0] for each in (network, slow)]
    assert took[1] == pytest.approx(5 * took[0], rel=0.05)


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (RandomDrop(0, 0.1), "faults[0].switch: node 0 is no switch"),
        (RandomDrop(99, 0.1), "faults[0].switch: node 99 is no switch"),
        (RandomDrop(SPINE, 1.1), "faults[0].probability: 1.1"),
        (RandomDrop(SPINE, float("nan")), "faults[0].probability: nan"),
        (RandomDrop(SPINE, 0.1, begins=2.0, ends=1.0), "faults[0]: from 2 to 1 s"),
        (RandomDrop(SPINE, 0.1, begins=-1.0), "faults[0]: from -1 to inf s"),
        (BlackHole(SPINE, [(0, 1), (0, LEAF)]), "faults[0].pairs[1]: node 4 is no host"),
    ],
)
def test_faults_that_make_no_sense_are_refused(fault: SwitchFault, problem: str) -> None:
    with pytest.raises(UnsoundError) as caught:
        Simulation(fabric(), [], Setting(faults=[fault]))
    assert str(caught.value).startswith(problem)
