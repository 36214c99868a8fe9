"""Rates at which receivers of ExpressPass send credits, step by step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.packet.credited import CONTROL, DATA, EXPRESSPASS_PORTS, SHARE, ExpressPass
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Fifo
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import Bottleneck, dumbbell, single_switch
from tests.simulator.packet.credit_rate_reference import rates


def two_hosts(delay: float, rate: float = 10_000.0) -> Network:
    """Two hosts with this delay to a switch and this rate, and the ports that ExpressPass asks for."""
    return EXPRESSPASS_PORTS.on(single_switch(2, rate, delay, Fifo()))


def rates_seen(simulation: Simulation, until: float, begin: float = 0.012, step: float = 5e-4) -> list[float]:
    """Run until then; return the different rates of the only flow from `begin` on, in order."""
    seen: list[float] = []
    for time in np.arange(begin, until, step):
        simulation.run(time)
        rate = float(simulation.flow_states().window[0])
        if not seen or rate != seen[-1]:
            seen.append(rate)
    return seen


def test_rates_follow_the_public_code_step_by_step() -> None:
    # By hand: alpha = w = 1/16, w + 0.05 from the second increase on, and 40 segments for all of it.
    network = two_hosts(5e-3)
    code = replace(ExpressPass.of_public_code(), initial_rate=1 / 16, initial_weight=1 / 16, jitter=0.0)
    expected, weight = [1 / 16], 1 / 16
    for step in range(5):
        weight = weight if step == 0 else min(weight + 0.05, 0.5)
        expected.append(weight + (1 - weight) * expected[-1])
    simulation = Simulation(network, [Flows.of(0, 1, code)])
    assert rates_seen(simulation, 0.12)[: len(expected)] == pytest.approx(expected, rel=1e-9)
    small = Simulation(network, [Flows.of(0, 1, code, size=10 * (DATA - 78))])
    small.run(0.012)
    assert small.flow_states().window[0] == pytest.approx(expected[0] / 4)


def test_the_public_code_begins_with_half_of_the_rate_and_halves_the_distance_to_all_of_it() -> None:
    code = replace(ExpressPass.of_public_code(), jitter=0.0)
    simulation = Simulation(two_hosts(5e-3), [Flows.of(0, 1, code)])
    assert rates_seen(simulation, 0.09)[:4] == pytest.approx([1 / 2, 3 / 4, 7 / 8, 15 / 16], rel=1e-9)


def test_rates_follow_algorithm_1_step_by_step() -> None:
    # By hand for a flow that is alone: its own card loses 1 - 1/1.1 of the credits at most, less than the target. So w
    # goes half of the way to 1/2 from the second increase on, and the rate w of the way to 1.1 of the most.
    network = two_hosts(5e-3)
    expected, weight = [1 / 16], 1 / 16
    for step in range(6):
        weight = weight if step == 0 else (weight + 0.5) / 2
        expected.append((1 - weight) * expected[-1] + weight * 1.1)
    simulation = Simulation(network, [Flows.of(0, 1, ExpressPass(jitter=0.0))])
    assert rates_seen(simulation, 0.16)[: len(expected)] == pytest.approx(expected, rel=1e-9)
    simulation.run(1.0)
    assert simulation.flow_states().window[0] == pytest.approx(1.1, abs=1e-3)


def test_the_most_credits_at_10_gbits_are_those_of_the_public_code() -> None:
    assert pytest.approx(64_734_895, abs=1) == 10e9 / 8 * SHARE
    express = ExpressPass(
        initial_rate=1.0, target_loss=0.0, jitter=0.0, smallest_credit=CONTROL, largest_credit=CONTROL
    )
    simulation = Simulation(two_hosts(1e-5), [Flows.of(0, 1, express)])
    simulation.run(0.1)
    assert simulation.credit_results().offered[0] == pytest.approx(0.1 * 64_734_895 / CONTROL, rel=0.01)


@pytest.mark.parametrize("slow", [150.0, 300.0, 600.0])
@pytest.mark.parametrize("first", [1 / 16, 1 / 2])
def test_rates_behind_a_slow_link_are_those_of_the_slow_reference(slow: float, first: float) -> None:
    network = two_hosts(1e-3, 1000.0)
    queueing = EXPRESSPASS_PORTS.of(slow)
    network.links[:2] = [replace(link, rate=slow, queueing=queueing) for link in network.links[:2]]  # the sender's
    express = ExpressPass(
        initial_rate=first, initial_weight=first, jitter=0.0, smallest_credit=CONTROL, largest_credit=CONTROL
    )
    seen = rates_seen(Simulation(network, [Flows.of(0, 1, express)]), 0.2, 0.0025, 1e-4)
    expected = rates(1000.0, slow, 1e-3, 0.2, first)
    assert len(expected) > 20
    assert seen[:20] == pytest.approx(expected[:20], rel=1e-3)


def sharing(express: ExpressPass, flows: int) -> tuple[float, float, int]:
    """Return the part of a link of 10 Gbit/s with data, Jain's index over 100 ms, and data packets lost."""
    network = express.ports.on(dumbbell(flows, 10_000.0, 1.25e-5, Bottleneck(10_000.0, 2.5e-5, Fifo())))
    starts = np.random.default_rng(flows).uniform(0, 0.01, flows)
    senders = np.arange(flows)
    simulation = Simulation(network, [Flows.of(senders, senders + flows, express, start=starts)])
    simulation.run(0.05)
    before = simulation.flow_results().arrived
    simulation.run(0.15)
    results = simulation.flow_results()
    gained = (results.arrived - before).astype(float)
    fairness = gained.sum() ** 2 / (flows * (gained**2).sum())
    return gained.sum() * DATA * 8 / (10e9 * 0.1), float(fairness), int(results.dropped.sum())


@pytest.mark.parametrize("flows", [4, 8, 16, 32, 128, 1024])
def test_as_printed_many_flows_fill_a_link_and_share_it_evenly(flows: int) -> None:
    """Section 6.1 of the paper: about 95 % of 10 Gbit/s, and very good fairness over 100 ms, from 4 to 1,024 flows."""
    full, fairness, lost = sharing(ExpressPass(), flows)
    assert 0.93 <= full <= 0.97
    assert fairness >= 0.96
    assert lost == 0


def test_a_floor_keeps_flows_with_less_than_a_credit_per_round_trip_even() -> None:
    _, without, _ = sharing(ExpressPass(floor=False), 256)
    _, fairness, _ = sharing(ExpressPass(), 256)
    assert without < 0.7
    assert fairness > 0.96
