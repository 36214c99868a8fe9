"""Crosspoints and Hashed Credits Fair, compared packet by packet with slow references, and claims of the papers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Crosspoints, Fifo, HashedCredits, Threshold
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.transports import Packets
from tests.simulator.packet.disciplines import (
    Buffer,
    CrosspointColumn,
    Discipline,
    Packet,
    TwoQueues,
    drawing,
    serve,
)

INPUTS = 3
RATE = 100.0
_PS_PER_BYTE = 80_000
_FAST = 1e6
"""Mbit/s into the switch, where a byte takes 8 ps."""

EGRESS = INPUTS


def switch(queueing: Crosspoints | HashedCredits) -> Network:
    """Hosts 0 to 2 send through a switch to host 3; the link to it is number 3."""
    network = Network()
    hosts = [network.add_host() for _ in range(INPUTS + 1)]
    node = network.add_switch()
    for host in hosts[:INPUTS]:
        network.connect((host, node), _FAST, 0.0)
    network.connect((node, hosts[-1]), RATE, 0.0, queueing=queueing)
    network.connect((hosts[-1], node), RATE, 0.0)
    for host in hosts[:INPUTS]:
        network.connect((node, host), RATE, 0.0)
    return network


def simulated(queueing: Crosspoints | HashedCredits, packets: list[Packet], seed: int) -> list[tuple[int | None, bool]]:
    """Return when each packet, a flow of its own, began to be sent (None if dropped), and True if it was marked."""
    flows = [
        Flows.of(packet.input, INPUTS, Packets(np.array([packet.time / 1e12]), np.array([packet.size]), ecn=True))
        for packet in packets
    ]
    simulation = Simulation(switch(queueing), flows, Setting(seed=seed))
    simulation.run()
    results = simulation.flow_results()
    left = [
        round(time * 1e12) - packet.size * _PS_PER_BYTE if np.isfinite(time) else None
        for time, packet in zip(results.finished, packets, strict=True)
    ]
    return list(zip(left, (results.marked > 0).tolist(), strict=True))


def referred(queueing: Crosspoints | HashedCredits, packets: list[Packet], seed: int) -> list[tuple[int | None, bool]]:
    """Return the same from the reference."""
    draw = drawing(seed)
    discipline: Discipline
    if isinstance(queueing, Crosspoints):
        discipline = CrosspointColumn(queueing, INPUTS + 1, draw)
    else:
        discipline = TwoQueues(queueing, draw, seed ^ ((EGRESS + 1) << 32))
    at_switch = [replace(packet, time=packet.time + 8 * packet.size) for packet in packets]
    serve(discipline, at_switch, lambda packet: packet.size * _PS_PER_BYTE)
    return [(packet.left, packet.left is not None and packet.marked) for packet in at_switch]


@st.composite
def arrivals(draw: st.DrawFn) -> list[Packet]:
    """Packets at a load of about two; no two reach the switch at one moment, as only the core knows their order."""
    count = draw(st.integers(1, 60))
    packets = []
    for number in range(count):
        size = draw(st.sampled_from([40, 64, 65, 500, 1000, 1500]))
        slot = draw(st.integers(0, count))
        packets.append(Packet(number, slot * 40_000_000 + number * 1_000_003, draw(st.integers(0, INPUTS - 1)), size))
    return packets


def buffers() -> st.SearchStrategy[Fifo]:
    return st.builds(
        Fifo,
        limit=st.sampled_from([1_536, 3_000, 5_000, 9_000]),
        cell=st.sampled_from([1, 40, 64]),
        marking=st.sampled_from([None, Threshold(1_000), Threshold(0)]),
        random_drop=st.booleans(),
        random_mark=st.booleans(),
    ).filter(lambda queue: queue.limit // queue.cell * queue.cell >= 1_500)


@settings(max_examples=100, deadline=None)
@given(buffers(), arrivals(), st.integers(0, 2**31))
def test_crosspoints_do_as_the_reference_does(queue: Fifo, packets: list[Packet], seed: int) -> None:
    queueing = Crosspoints(queue)
    assert simulated(queueing, packets, seed) == referred(queueing, packets, seed)


@settings(max_examples=100, deadline=None)
@given(buffers(), arrivals(), st.integers(0, 2**31), st.integers(1, 4), st.integers(0, 3), st.sampled_from([1e-4, 1.0]))
def test_hashed_credits_do_as_the_reference_does(
    queue: Fifo, packets: list[Packet], seed: int, bins: int, credit: int, period: float
) -> None:
    queueing = HashedCredits(queue, bins, credit, period)
    assert simulated(queueing, packets, seed) == referred(queueing, packets, seed)


def test_victims_are_drawn_by_their_cells() -> None:
    """Two packets of one cell each wait; one of two cells needs room: it is dropped half of the time."""
    queue = Fifo(limit=3 * 64, cell=64, random_drop=True)
    draw = drawing(1)
    fates = []
    for _ in range(4_000):
        buffer = Buffer(queue, draw, [Packet(0, 0, 0, 1), Packet(1, 0, 0, 64)])
        new = Packet(2, 0, 0, 65)
        buffer.arrive(new)
        fates.append(new in buffer.packets)
    assert np.mean(fates) == pytest.approx(0.5, abs=0.03)


def test_a_flow_keeps_its_order_through_hashed_credits() -> None:
    """Four flows of packets distinguished by size, more than fit; each flow's packets arrive in order."""
    random = np.random.default_rng(5)
    packets = [
        Packet(number % 4, 7_000_000 * number, number % INPUTS, int(random.integers(64, 1500))) for number in range(300)
    ]
    two = TwoQueues(HashedCredits(Fifo(6_000), bins=3, hashed_anew_after=1e-5), drawing(1), 1)
    serve(two, packets, lambda packet: packet.size * _PS_PER_BYTE)
    assert any(packet.left is None for packet in packets)
    for flow in range(4):
        left = [packet.left for packet in packets if packet.number == flow and packet.left is not None]
        assert left == sorted(left)
