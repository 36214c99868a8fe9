"""No flow is faster than the ideal, and an undisturbed one is as fast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.simulation import Simulation
from simulator.packet.summary import ideal_completion
from simulator.packet.transports import ConstantRate, Tcp
from tests.simulator.packet.scenes import simulations

RATES = st.sampled_from([3.0, 10.0, 17.0, 100.0, 1000.0])

UNHINDERED = Tcp(initial_window=1e6, nic_packets=0, first_timeout=60.0, min_timeout=60.0)


def line(rates: list[float], delays: list[float]) -> Network:
    network = Network()
    source, target = network.add_host(), network.add_host()
    nodes = [source, *(network.add_switch() for _ in rates[1:]), target]
    for place, (rate, delay) in enumerate(zip(rates, delays, strict=True)):
        network.connect((nodes[place], nodes[place + 1]), rate, delay)
        network.connect((nodes[place + 1], nodes[place]), rate, delay)
    return network


@settings(max_examples=30, deadline=None)
@given(
    links=st.lists(st.tuples(RATES, st.floats(0, 0.01)), min_size=1, max_size=5),
    size=st.integers(1, 60_000),
    handshake=st.booleans(),
)
def test_a_flow_that_nothing_holds_back_takes_the_ideal_time(
    links: list[tuple[float, float]], size: int, *, handshake: bool
) -> None:
    network = line([rate for rate, _ in links], [delay for _, delay in links])
    flows = [Flows.of(0, 1, replace(UNHINDERED, handshake=handshake), size=size)]
    simulation = Simulation(network, flows)
    assert simulation.run()
    ideal = ideal_completion(network, flows, seed=1)
    assert simulation.flow_results().completion == pytest.approx(ideal, rel=0, abs=0.6e-12)


@settings(max_examples=15, deadline=None)
@given(simulations(["fixed", "ecmp"]))  # packets on several paths can be faster than on one
def test_no_flow_is_faster(simulation: Simulation) -> None:
    simulation.run(until=1.0)
    ideal = ideal_completion(simulation.network, simulation.flows, simulation.setting.seed)
    completion = simulation.flow_results().completion
    assert np.all((completion >= ideal - 1e-12) | np.isnan(ideal))


def test_paths_of_different_lengths_have_their_own_times() -> None:
    network = Network()
    near, far, source = (network.add_host() for _ in range(3))
    switch, other = network.add_switch(), network.add_switch()
    for ends in ((source, switch), (near, switch), (switch, other), (other, far)):
        network.connect(ends, 100.0, 1e-3)
        network.connect((ends[1], ends[0]), 100.0, 1e-3)
    flows = [Flows.of(source, [near, far], Tcp(), size=[960, 1460 + 460])]
    # 1000 bytes over two links; 1500 bytes over three, followed by 500 over the last.
    expected = [2 * 80e-6 + 2e-3, 3 * 120e-6 + 40e-6 + 3e-3]
    assert ideal_completion(network, flows, seed=1) == pytest.approx(expected)


def test_flows_without_an_end_or_with_a_pace_have_no_ideal() -> None:
    network = line([10.0], [0.0])
    flows = [Flows.of(0, 1, Tcp()), Flows.of(0, 1, ConstantRate(1.0), size=1000), Flows.of(0, 1, Tcp(), size=1)]
    ideal = ideal_completion(network, flows, seed=1)
    assert np.isnan(ideal).tolist() == [True, True, False]
