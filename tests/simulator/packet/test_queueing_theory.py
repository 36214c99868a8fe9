"""Waiting times at a single queue compared with queueing theory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.packet.flows import Flows
from simulator.packet.queues import Fifo, StrictPriority
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import single_switch
from simulator.packet.transports import Packets

PACKETS = 200_000
SIZE = 1000
SERVICE = 1e-3
"""Seconds that a packet of this size takes at this rate."""
RATE = 8.0


def mean_queued_bytes(times: NDArray[np.float64], sizes: NDArray[np.int64]) -> float:
    """Waits of packets that meet at the link out of their host."""
    simulation = Simulation(single_switch(2, RATE, 0.0, Fifo()), [Flows.of(0, 1, Packets(times, sizes))])
    simulation.run()
    assert simulation.flow_results().arrived.tolist() == [times.size]
    return float(simulation.link_results().queued_byte_seconds[0]) / float(times[-1])


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_constant_packets_wait_as_in_m_d_1(load: float) -> None:
    times = np.cumsum(np.random.default_rng(1).exponential(SERVICE / load, PACKETS))
    measured = mean_queued_bytes(times, np.full(PACKETS, SIZE))
    assert measured == pytest.approx(SIZE * load**2 / (2 * (1 - load)), rel=0.03)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_exponential_packets_wait_as_in_m_m_1(load: float) -> None:
    random = np.random.default_rng(2)
    times = np.cumsum(random.exponential(SERVICE / load, PACKETS))
    sizes = np.maximum(1, np.rint(random.exponential(SIZE, PACKETS))).astype(np.int64)
    assert mean_queued_bytes(times, sizes) == pytest.approx(SIZE * load**2 / (1 - load), rel=0.05)


def test_strict_priorities_wait_as_cobham_says() -> None:
    """Two classes at a server that is not interrupted (Cobham, 1954): W_k = W_0 / (1 - s_{k-1}) (1 - s_k)."""
    load = 0.4  # of each class
    random = np.random.default_rng(3)
    groups = []
    for level in range(2):
        times = np.cumsum(random.exponential(SERVICE / load, PACKETS))
        groups.append(Flows.of(level, 2, Packets(times, np.full(PACKETS, SIZE)), level=level))
    network = single_switch(3, 1e5, 0.0, Fifo())  # from the hosts to the switch at once
    egress = network.outputs[3][2]
    network.links[egress] = replace(network.links[egress], rate=RATE, queueing=StrictPriority([Fifo(), Fifo()]))
    simulation = Simulation(network, groups)
    end = float(min(group.transport.times[-1] for group in groups if isinstance(group.transport, Packets)))
    simulation.run(end)
    residual = 2 * load * SERVICE / 2
    waits = [residual / (1 - load), residual / ((1 - load) * (1 - 2 * load))]
    measured = float(simulation.link_results().queued_byte_seconds[egress]) / end
    assert measured == pytest.approx(sum(SIZE * load / SERVICE * wait for wait in waits), rel=0.05)
