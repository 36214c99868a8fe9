"""A wait of FlashPass below the largest round trip is refused, with one that is accepted, before flows are made."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kuijia_base.errors import UnsoundError
from simulator.packet.credited import FlashPass, Ports
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Fifo
from simulator.packet.round_trips import require_wait
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import LeafSpine
from simulator.packet.traffic.patterns import AllToAll
from simulator.portable_random import Draws

REFUSAL = re.compile(r"(\S+) s is less than the largest round trip, (\S+) s, expected (\S+) s or more")


def two_ways(slow: float = 3e-3) -> Network:
    """Two hosts behind a switch each, with a way over two further switches, one of which is farther away."""
    network = Network()
    a, b = network.add_host(), network.add_host()
    s, t, near, far = (network.add_switch() for _ in range(4))
    lengths = {(a, s): 1e-3, (b, t): 1.2345e-3, (s, near): 1e-3, (near, t): 1e-3, (s, far): slow, (far, t): slow}
    for (one, other), delay in lengths.items():
        for ends in ((one, other), (other, one)):
            network.connect(ends, 900.0, delay)
    return Ports().on(network)


def refusal_of_flows(network: Network, wait: float) -> tuple[str, str] | None:
    """The wait of a refused simulation, and that which it asks for."""
    try:
        Simulation(network, [Flows.of([0, 1], [1, 0], FlashPass(wait=wait), size=1000)])
    except UnsoundError as error:
        found = REFUSAL.search(str(error))
        assert found is not None
        assert found[2] == found[3]
        return found[1], found[2]
    return None


@pytest.mark.parametrize("delay", [1e-3, 0.00123456789012, 1 / 3e3])
@pytest.mark.parametrize("wait", [0.0, 1e-6, 0.004])
def test_the_wait_that_a_refusal_asks_for_is_accepted_and_one_below_is_not(wait: float, delay: float) -> None:
    network = two_ways(delay)
    told = refusal_of_flows(network, wait)
    assert told is not None
    assert float(told[0]) == wait
    assert refusal_of_flows(network, float(told[1])) is None
    below = float(told[1]) - 1e-11
    again = refusal_of_flows(network, below)
    assert again is not None
    assert float(again[0]) == below
    assert again[1] == told[1]


def test_a_wait_too_short_on_every_path_is_refused_without_flows_and_asks_for_enough_on_all() -> None:
    network, pairs = two_ways(), np.array([[0, 1]])
    with pytest.raises(UnsoundError) as told:
        require_wait(network, pairs, 0.008)
    found = REFUSAL.search(str(told.value))
    assert found is not None
    assert float(found[3]) == pytest.approx(2 * (1e-3 + 1.2345e-3 + 6e-3 + 4 * 84 * 8e-6 / 900), abs=1e-11)
    assert refusal_of_flows(network, float(found[3])) is None
    require_wait(network, pairs, 0.009)  # enough on the near path: the paths of flows decide


def test_round_trips_of_pairs_are_those_of_their_flows() -> None:
    network = Ports().on(LeafSpine(3, 2, 2, 1000, 700, 1e-5).network(Fifo()))
    pairs = AllToAll().at_once(6, Draws(1))
    source, target = np.asarray(network.hosts)[pairs].T
    messages = []
    for refuse in (
        lambda: require_wait(network, pairs, 0.0),
        lambda: Simulation(network, [Flows.of(source, target, FlashPass(wait=0.0), size=1)]),
    ):
        with pytest.raises(UnsoundError) as told:
            refuse()
        messages.append(str(told.value))
    assert messages[0] == messages[1]


def test_hosts_with_several_links_are_left_to_the_paths_of_flows() -> None:
    network = two_ways()
    network.connect((0, 3), 900.0, 1e-3, queueing=network.links[0].queueing)
    require_wait(network, np.array([[0, 1]]), 0.0)


def test_a_round_trip_beyond_the_longest_time_is_refused_as_such() -> None:
    network = Ports().on(LeafSpine(2, 1, 1, 1000, 1000, 4e5).network(Fifo()))
    with pytest.raises(UnsoundError, match=r"the largest round trip is 3200000 s, expected 2305843 s at most"):
        Simulation(network, [Flows.of(0, 1, FlashPass(), size=1)])
