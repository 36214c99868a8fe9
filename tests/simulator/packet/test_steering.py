"""A simulation that is steered between two runs, or by functions called at given times."""

from __future__ import annotations

from dataclasses import astuple
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from simulator.packet.flows import Flows
from simulator.packet.load_balancing import LOAD_BALANCERS
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.results import LinkResults
from simulator.packet.scenario import Outage, Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import LeafSpine
from simulator.packet.transports import Congestion, Packets, Tcp
from tests.simulator.packet.scenes import require_conserved

FABRIC = LeafSpine(2, 2, 4, 1_000.0, 1_000.0, 1e-6)
TCP = Tcp(congestion=Congestion.DCTCP, min_timeout=1e-3, first_timeout=1e-3)


def network() -> Network:
    return FABRIC.network(Fifo(40_000, Threshold(15_000)))


def flows(seed: int, start: float) -> Flows:
    random = np.random.default_rng(seed)
    source = random.integers(0, 8, 20)
    target = (source + random.integers(1, 8, 20)) % 8
    return Flows.of(
        source, target, TCP, size=random.integers(1, 100_000, 20), start=start + random.uniform(0, 1e-3, 20)
    )


def links_between(of: Network, *nodes: int) -> list[int]:
    return [next(link for link in of.outputs[one] if of.links[link].target == other) for one, other in pairwise(nodes)]


def test_steering_within_a_run_is_steering_between_runs() -> None:
    def results(*, within: bool) -> list[NDArray[Any]]:
        simulation = Simulation(network(), [flows(1, 0.0)])
        steps = (
            (4e-4, lambda: simulation.add_flows(flows(2, 5e-4))),
            (6e-4, lambda: simulation.fail(17)),
            (3e-3, lambda: simulation.heal(17)),
        )
        for time, step in steps:
            if within:
                simulation.at(time, step)
            else:
                simulation.run(time)
                step()
        simulation.run()
        require_conserved(simulation)
        assert simulation.unfinished == 0
        return [*astuple(simulation.flow_results()), *astuple(simulation.link_results())]

    within, between = results(within=True), results(within=False)
    assert within[0].size == 40
    assert all((one == other).all() for one, other in zip(within, between, strict=True))


def test_a_link_that_fails_by_hand_fails_as_in_an_outage() -> None:
    def links(*, by_hand: bool) -> LinkResults:
        outages = [] if by_hand else [Outage(18, 4e-4, detected=1.0, heals=2e-3)]
        simulation = Simulation(network(), [flows(1, 0.0)], Setting(outages=outages))
        if by_hand:
            simulation.at(4e-4, lambda: simulation.fail(18))
            simulation.at(2e-3, lambda: simulation.heal(18))
        simulation.run(0.5)
        return simulation.link_results()

    by_hand, as_outage = links(by_hand=True), links(by_hand=False)
    assert by_hand.lost_packets.sum() == as_outage.lost_packets.sum() > 0
    assert (by_hand.sent_packets == as_outage.sent_packets).all()


def test_a_scheduler_in_the_loop_moves_a_flow_to_the_idle_spine() -> None:
    """Two flows begin on one spine; after 2 ms a scheduler moves the second, and both have a link of their own."""
    of = network()
    paths = [
        (links_between(of, host, 8, 10, 9, host + 4), links_between(of, host + 4, 9, 10, 8, host)) for host in (0, 1)
    ]
    simulation = Simulation(of, [Flows.of([0, 1], [4, 5], TCP, paths=paths)])
    other = (links_between(of, 1, 8, 11, 9, 5), links_between(of, 5, 9, 11, 8, 1))
    simulation.at(2e-3, lambda: simulation.move_all({1: other}))
    simulation.run(2e-3)
    before = simulation.flow_results().goodput.sum()
    simulation.run(4e-3)
    after = simulation.flow_results().goodput.sum() - before
    assert after > 1.8 * before
    with pytest.raises(UnsoundError, match="does not leave node"):
        simulation.move(1, (other[1], other[0]))


def test_flows_before_one_with_a_wrong_path_have_moved() -> None:
    of = network()
    paths = [
        (links_between(of, host, 8, 10, 9, host + 4), links_between(of, host + 4, 9, 10, 8, host)) for host in (0, 1)
    ]
    simulation = Simulation(of, [Flows.of([0, 1], [4, 5], TCP, paths=paths)])
    other = (links_between(of, 0, 8, 11, 9, 4), links_between(of, 4, 9, 11, 8, 0))
    simulation.run(1e-4)
    before = int(simulation.port_counters()["sent_bytes"][other[0][1]])
    with pytest.raises(UnsoundError, match="does not leave node"):
        simulation.move_all({0: other, 1: (other[1], other[0])})
    simulation.run(3e-4)
    assert int(simulation.port_counters()["sent_bytes"][other[0][1]]) > before


def test_a_controller_polls_counters_that_are_not_copied() -> None:
    simulation = Simulation(network(), [flows(1, 0.0)])
    views = simulation.port_counters()
    polled = []

    def poll() -> None:
        simulation.port_counters()
        polled.append(int(views["sent_bytes"].sum()))
        if simulation.unfinished:
            simulation.at(simulation.now + 5e-4, poll)

    simulation.at(5e-4, poll)
    simulation.run()
    assert len(polled) > 3
    assert polled == sorted(polled)
    assert views["sent_bytes"].tolist() == simulation.link_results().sent_bytes.tolist()
    with pytest.raises(ValueError, match="read-only"):
        views["sent_bytes"][0] = 0


FLOW_COUNTERS = (
    "goodput",
    "sent",
    "arrived",
    "dropped",
    "marked",
    "reordered",
    "retransmitted",
    "timeouts",
    "recoveries",
)


def test_a_controller_polls_flows_and_queues_that_are_not_copied() -> None:
    simulation = Simulation(network(), [flows(1, 0.0)])
    of_flows, of_ports = simulation.flow_counters(), simulation.port_counters()
    assert set(of_flows) == set(FLOW_COUNTERS)
    waiting = 0
    for until in np.linspace(1e-4, 3e-3, 30):
        simulation.run(until)
        again = simulation.flow_counters(), simulation.port_counters()
        results, links = simulation.flow_results(), simulation.link_results()
        for name in FLOW_COUNTERS:
            assert of_flows[name].tolist() == getattr(results, name).tolist()
            assert np.shares_memory(of_flows[name], again[0][name])
        for name in ("queued", "queued_peak"):
            assert of_ports[name].tolist() == getattr(links, name).tolist()
            assert np.shares_memory(of_ports[name], again[1][name])
        waiting += int(of_ports["queued"].sum())
    assert waiting > 0
    with pytest.raises(ValueError, match="read-only"):
        of_flows["sent"][0] = 0


def test_views_of_flows_stay_readable_when_flows_are_added_and_when_the_simulation_is_gone() -> None:
    simulation = Simulation(network(), [flows(1, 0.0)])
    simulation.run(5e-4)
    before = simulation.flow_counters()["sent"]
    expected = before.tolist()
    assert sum(expected) > 0
    for start in (6e-4, 7e-4, 8e-4):
        simulation.add_flows(flows(2, start))
    simulation.run()
    after = simulation.flow_counters()["sent"]
    assert after.tolist() == simulation.flow_results().sent.tolist()
    assert (before.size, after.size) == (20, 80)
    assert before.tolist() == expected
    del simulation
    assert before.tolist() == expected
    assert after.sum() > sum(expected)


def test_a_simulation_without_flows_has_no_flow_counters() -> None:
    assert [counter.size for counter in Simulation(network(), []).flow_counters().values()] == [0] * len(FLOW_COUNTERS)


def test_views_outlive_their_simulation() -> None:
    simulation = Simulation(network(), [flows(1, 0.0)])
    simulation.run()
    expected = simulation.link_results().sent_packets.tolist()
    views = simulation.port_counters()
    del simulation
    assert views["sent_packets"].tolist() == expected


def test_a_function_is_called_at_its_time_even_if_nothing_else_happens() -> None:
    simulation = Simulation(network(), [])
    seen = []
    simulation.at(2.0, lambda: seen.append(simulation.now))
    simulation.at(1.0, lambda: seen.append(simulation.now))
    assert simulation.run(1.5)
    assert seen == [1.0]
    simulation.run()
    assert seen == [1.0, 2.0]
    with pytest.raises(UnsoundError, match=r"at: 0.5 s is in the past, expected 2 s or later"):
        simulation.at(0.5, lambda: None)


@pytest.mark.parametrize("name", LOAD_BALANCERS)
def test_flows_can_be_added_under_every_load_balancer(name: str) -> None:
    simulation = Simulation(network(), [], Setting(load_balancer=LOAD_BALANCERS[name]))
    assert simulation.add_flows(flows(1, 0.0)) == range(20)
    simulation.run(1e-3)
    packets = Packets(np.array([1.0]), np.array([500]))
    assert simulation.add_flows(Flows.of(0, 5, packets, start=1e-3)) == range(20, 21)
    simulation.run()
    require_conserved(simulation)
    assert simulation.unfinished == 0
    assert np.isfinite(simulation.flow_results().finished).all()


def test_flows_that_cannot_be_added_change_nothing() -> None:
    simulation = Simulation(network(), [flows(1, 0.0)])
    simulation.run(1e-3)
    with pytest.raises(UnsoundError, match=r"flows.start: 0 s is in the past"):
        simulation.add_flows(Flows.of(0, 1, TCP))
    with pytest.raises(UnsoundError, match="two different hosts"):
        simulation.add_flows(Flows.of(3, 3, TCP, start=1.0))
    assert simulation.add_flows(flows(3, 1e-3)) == range(20, 40)
    simulation.run()
    assert simulation.unfinished == 0
