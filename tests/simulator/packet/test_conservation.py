"""Invariants of every scenario, however odd."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from simulator.packet.simulation import Simulation
from tests.simulator.packet.scenes import require_conserved, simulations


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(simulations())
def test_every_packet_arrives_is_dropped_or_is_on_its_way(simulation: Simulation) -> None:
    for until in (0.001, 0.0105, 0.03, 0.2):
        assert simulation.run(until)
        assert simulation.now == until or simulation.totals().in_flight == 0
        require_conserved(simulation)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(simulations())
def test_tcp_delivers_every_byte_once_links_are_back(simulation: Simulation) -> None:
    simulation.run(3000.0)
    require_conserved(simulation)
    results = simulation.flow_results()
    sizes = np.concatenate([group.size for group in simulation.flows])
    assert simulation.unfinished == 0
    assert simulation.totals().in_flight == 0
    complete = np.isfinite(results.acknowledged)
    assert (results.goodput[complete] == sizes[complete]).all()
    assert (results.finished[complete] <= results.acknowledged[complete]).all()
    assert (results.finished[complete] > results.start[complete]).all()
