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
from simulator.packet.topologies import single_switch


def two_hosts(delay: float) -> Network:
    """Two hosts with this delay to a switch and 10 Gbit/s, and the ports that ExpressPass asks for."""
    return EXPRESSPASS_PORTS.on(single_switch(2, 10_000.0, delay, Fifo()))


def rates_seen(simulation: Simulation, until: float) -> list[float]:
    """Run until then; return the different rates of the only flow, in order."""
    seen: list[float] = []
    for time in np.arange(0.012, until, 5e-4):
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
