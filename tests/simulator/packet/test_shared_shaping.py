"""Queues that share a token bucket: together they send at its rate, the first one first."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from kuijia_base.errors import UnsoundError
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, SharedShaping, StrictPriority, TokenBucket
from simulator.packet.simulation import Simulation
from simulator.packet.transports import ConstantRate, Packets

BUCKET = TokenBucket(10.0, 3000)


def sent(queueing: StrictPriority, rates: tuple[float, ...]) -> list[float]:
    """Return the Mbit/s of flows of different levels over ten seconds."""
    network = Network()
    hosts = [network.add_host() for _ in range(2)]
    network.connect((hosts[0], hosts[1]), 100.0, 0.0, queueing=queueing)
    network.connect((hosts[1], hosts[0]), 100.0, 0.0)
    flows = [Flows.of(0, 1, ConstantRate(rate, 1000), level=level) for level, rate in enumerate(rates)]
    simulation = Simulation(network, flows)
    simulation.run(10.0)
    return [float(goodput) * 8e-7 for goodput in simulation.flow_results().goodput]


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ((4.0, 20.0, 50.0), (4.0, 6.0, 50.0)),
        ((20.0, 20.0, 50.0), (10.0, 0.0, 50.0)),
        ((2.0, 3.0, 5.0), (2.0, 3.0, 5.0)),
    ],
)
def test_the_second_queue_gets_what_the_first_leaves(rates: tuple[float, ...], expected: tuple[float, ...]) -> None:
    queueing = StrictPriority([Fifo(20_000)] * 3, [SharedShaping((0, 1), BUCKET)])
    assert sent(queueing, rates) == pytest.approx(expected, abs=0.05)


def test_a_queue_with_tokens_of_its_own_leaves_the_shared_ones_to_others() -> None:
    own = Fifo(20_000, shaping=TokenBucket(3.0, 2000))
    queueing = StrictPriority([own, Fifo(20_000), Fifo(20_000)], [SharedShaping((0, 1), BUCKET)])
    assert sent(queueing, (20.0, 20.0, 1.0)) == pytest.approx((3.0, 7.0, 1.0), abs=0.05)


@pytest.mark.parametrize("places", [(0, 3), (0, 0)])
def test_places_that_do_not_exist_or_are_given_twice_are_refused(places: tuple[int, ...]) -> None:
    with pytest.raises(UnsoundError, match="must exist and share one only"):
        sent(StrictPriority([Fifo()] * 3, [SharedShaping(places, BUCKET)]), (1.0,))


def test_there_are_at_most_254_shared_buckets() -> None:
    for count in (254, 255):
        shared = [SharedShaping((place,), BUCKET) for place in range(count)]
        with nullcontext() if count == 254 else pytest.raises(UnsoundError, match="at most 254 shared buckets"):
            sent(StrictPriority([Fifo()] * count, shared), ())


def test_queues_that_share_tokens_count_what_they_send_and_lose() -> None:
    """A bucket of 3,000 bytes lets three packets go at once, and the link fails before there are tokens for more."""
    network = Network()
    hosts = [network.add_host() for _ in range(2)]
    network.connect(
        (hosts[0], hosts[1]), 100.0, 0.0, queueing=StrictPriority([Fifo()] * 2, [SharedShaping((0, 1), BUCKET)])
    )
    network.connect((hosts[1], hosts[0]), 100.0, 0.0)
    flows = [
        Flows.of(0, 1, Packets(np.zeros(count), np.full(count, 1_000)), level=level)
        for level, count in enumerate((2, 5))
    ]
    simulation = Simulation(network, flows)
    simulation.run(5e-4)
    simulation.fail(0)
    counters = simulation.queue_counters(2)
    assert counters.sent_packets[0].tolist() == [2, 1]
    assert counters.sent_bytes[0].tolist() == [2_000, 1_000]
    assert counters.lost_packets[0].tolist() == [0, 4]
