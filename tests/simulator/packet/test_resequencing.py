"""A receiver that puts segments back into order before TCP sees them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.packet.flows import Flows
from simulator.packet.load_balancing import LoadBalancer, PathsInTurn
from simulator.packet.network import Network
from simulator.packet.queues import Fifo
from simulator.packet.results import FlowResults
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import LeafSpine
from simulator.packet.transports import Congestion, Tcp
from tests.simulator.packet.scenes import require_conserved

TCP = Tcp(Congestion.NEW_RENO, sack=False, min_timeout=0.01, first_timeout=0.01)


def uneven(loss: float = 0.0) -> Network:
    """Two paths between two hosts, one 100 microseconds longer than the other."""
    network = LeafSpine(2, 2, 1, 1_000.0, 1_000.0, 1e-6).network(Fifo())
    longer = next(link for link in network.outputs[2] if network.links[link].target == 4)
    network.links[longer] = replace(network.links[longer], delay=101e-6, loss=loss)
    return network


def spread(tcp: Tcp, *, loss: float = 0.0, size: int = 500_000) -> FlowResults:
    """Send a flow packet by packet over both paths."""
    setting = Setting(load_balancer=LoadBalancer(choice=PathsInTurn()))
    simulation = Simulation(uneven(loss), [Flows.of(0, 1, tcp, size=size)], setting)
    simulation.run(1.0)
    require_conserved(simulation)
    assert simulation.unfinished == 0
    return simulation.flow_results()


def test_reordered_segments_look_lost_without_the_buffer() -> None:
    assert spread(TCP).recoveries[0] > 0


def test_segments_that_wait_for_the_longer_path_cause_no_recovery() -> None:
    results = spread(replace(TCP, resequencing=300e-6))
    assert (results.recoveries[0], results.retransmitted[0], results.timeouts[0]) == (0, 0, 0)


def test_a_timer_shorter_than_the_difference_of_the_paths_is_of_no_use() -> None:
    assert spread(replace(TCP, resequencing=10e-6)).recoveries[0] > 0


def test_a_buffer_that_stays_at_a_gap_holds_back_all_that_follows() -> None:
    """Windows of ten segments: each takes 120 microseconds before a loss, and the buffer's 300 more after it."""
    seconds = []
    for stays in (False, True):
        tcp = replace(TCP, receive_window=10, resequencing=300e-6, resequencing_stays=stays)
        network = LeafSpine(2, 1, 1, 1_000.0, 1_000.0, 1e-6).network(Fifo())
        simulation = Simulation(network, [Flows.of(0, 1, tcp, size=2_000_000)], Setting())
        simulation.run(2e-3)
        fabric_link = network.outputs[2][-1]
        simulation.fail(fabric_link)
        simulation.heal(fabric_link)
        simulation.run()
        require_conserved(simulation)
        seconds.append(simulation.flow_results().finished[0])
        assert simulation.flow_results().goodput[0] == 2_000_000
    goes_on, stayed = seconds
    assert stayed > 2 * goes_on


def test_a_buffer_whose_gaps_are_filled_in_time_has_nowhere_to_stay() -> None:
    in_time = replace(TCP, resequencing=300e-6)
    assert spread(replace(in_time, resequencing_stays=True)).finished[0] == spread(in_time).finished[0]


def test_what_is_lost_is_recovered_once_the_timer_ends() -> None:
    results = spread(replace(TCP, resequencing=300e-6), loss=0.02)
    assert results.recoveries[0] > 0
    assert results.timeouts[0] < results.retransmitted[0]
    assert results.goodput[0] == 500_000


def test_a_single_segment_waits_for_the_in_order_timer() -> None:
    without = spread(replace(TCP, resequencing=300e-6), size=1000)
    held = spread(replace(TCP, resequencing=300e-6, in_order_hold=5e-6), size=1000)
    assert held.finished[0] - without.finished[0] == pytest.approx(5e-6)


def test_segments_in_order_wait_for_the_timer_or_enough_of_them() -> None:
    """Ten segments come 12 microseconds apart; with a long timer the receiver takes them five by five."""
    setting = Setting(seed=1)
    finished = []
    for hold, packets in ((0.0, 1), (1e-3, 5), (1e-3, 100)):
        tcp = replace(TCP, resequencing=5e-3, in_order_hold=hold, in_order_packets=packets)
        simulation = Simulation(uneven(), [Flows.of(0, 1, tcp, size=14_600)], setting)
        simulation.run()
        finished.append(simulation.flow_results().finished[0])
    at_once, by_five, by_time = finished
    assert by_five == pytest.approx(at_once)
    assert by_time - at_once == pytest.approx(1e-3 - 9 * 12e-6, abs=1e-7)


def test_the_buffer_changes_nothing_on_one_path() -> None:
    outcomes = []
    for resequencing in (0.0, 1e-4):
        tcp = replace(TCP, resequencing=resequencing)
        simulation = Simulation(uneven(), [Flows.of([0, 1], [1, 0], tcp, size=300_000)], Setting(seed=3))
        simulation.run()
        outcomes.append(simulation.flow_results())
    assert np.array_equal(outcomes[0].finished, outcomes[1].finished)
