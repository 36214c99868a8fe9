"""A workload makes the load that it promises, and the same flows for a seed."""

from __future__ import annotations

import numpy as np
import pytest

from kuijia_base.errors import UnsoundError
from simulator.flow_sizes.published import FlowSizes, published_flow_sizes
from simulator.packet.network import Network
from simulator.packet.queues import Fifo
from simulator.packet.routing import NoPathError
from simulator.packet.topologies import LeafSpine
from simulator.packet.traffic.arrivals import LogNormal
from simulator.packet.traffic.load import Load, Reference, capacity
from simulator.packet.traffic.patterns import Incast, Permutation, Random, Stride
from simulator.packet.traffic.workload import Workload, flows_at_once
from simulator.packet.transports import Tcp
from simulator.portable_random import Draws

FABRIC = LeafSpine(4, 2, 8, host_rate=10_000, fabric_rate=20_000, delay=1e-6).network(Fifo())
"""32 hosts whose leaves have half the rate upwards that they have downwards."""

SIZES = FlowSizes(np.array([1000.0, 9000.0]), np.array([0.0, 1.0]))


@pytest.mark.parametrize("of", Reference)
def test_offered_bytes_over_time_are_the_load(of: Reference) -> None:
    workload = Workload(SIZES, Load(0.4, of), 40_000, pattern=Random(apart=8))
    flows = workload.drawn(FABRIC, Tcp(), seed=1)
    offered = flows.size.sum() * 8 / flows.start[-1] / 1e6
    # The links up carry what the hosts of a leaf send to others, half of what their own links could.
    room = {Reference.HOSTS: 320_000, Reference.NETWORK: 160_000}[of]
    assert offered == pytest.approx(0.4 * room, rel=0.02)


def test_the_network_is_full_when_its_busiest_link_is() -> None:
    draws = [Draws(1) for _ in range(3)]
    among_all = capacity(FABRIC, Random(), Reference.NETWORK, draws[0])
    assert among_all == pytest.approx(160_000 * 31 / 24)  # 24 of the 31 other hosts are behind other leaves
    assert capacity(FABRIC, Stride(8), Reference.NETWORK, draws[1]) == pytest.approx(160_000)
    assert capacity(FABRIC, Stride(8), Reference.HOSTS, draws[2]) == pytest.approx(320_000)


def test_a_seed_gives_the_same_flows_at_another_load_only_closer() -> None:
    low, high = (Workload(SIZES, Load(part), 500).drawn(FABRIC, Tcp(), seed=7) for part in (0.2, 0.8))
    assert low.source.tolist() == high.source.tolist()
    assert low.target.tolist() == high.target.tolist()
    assert low.size.tolist() == high.size.tolist()
    assert low.start == pytest.approx(high.start * 4)


def test_the_first_flows_of_a_seed_are_known() -> None:
    flows = Workload(published_flow_sizes("cqrd"), Load(0.5), 3, LogNormal()).drawn(FABRIC, Tcp(), seed=1)
    columns = (flows.source, flows.target, flows.size)
    assert [column.tolist() for column in columns] == [[16, 30, 4], [30, 9, 14], [446, 1072, 739]]
    starts = ["0x1.b552117bc78e7p-20", "0x1.5a3625bd2ed7dp-19", "0x1.d6e88c868ee03p-18"]
    assert list(map(float.hex, flows.start.tolist())) == starts


def test_an_incast_starts_together_and_makes_the_same_load() -> None:
    flows = Workload(SIZES, Load(0.5), 20_001, pattern=Incast(8)).drawn(FABRIC, Tcp(), seed=1)
    assert flows.count == 20_001
    assert len(set(flows.start[:8])) == 1
    assert flows.start[8] > flows.start[7]
    assert flows.size.sum() * 8 / flows.start[-1] / 1e6 == pytest.approx(160_000, rel=0.06)


def test_a_permutation_at_a_load_stays_one() -> None:
    flows = Workload(SIZES, Load(0.5), 2000, pattern=Permutation()).drawn(FABRIC, Tcp(), seed=1)
    once = flows_at_once(Permutation(), SIZES, FABRIC, Tcp(), seed=1)
    pairs = {tuple(pair) for pair in zip(flows.source.tolist(), flows.target.tolist(), strict=True)}
    assert pairs == set(zip(once.source.tolist(), once.target.tolist(), strict=True))


def test_flows_at_once_start_at_once() -> None:
    flows = flows_at_once(Stride(1), FlowSizes.of_one(5000), FABRIC, Tcp(), seed=1)
    assert flows.start.tolist() == [0] * 32
    assert flows.size.tolist() == [5000] * 32


@pytest.mark.parametrize("part", [0, -1, float("nan"), 101])
def test_loads_that_make_no_sense_are_refused(part: float) -> None:
    with pytest.raises(UnsoundError, match="load: is"):
        Load(part)


def test_too_few_and_too_many_flows_are_refused() -> None:
    for flows in (0, 10**8):
        with pytest.raises(UnsoundError, match="flows: are"):
            Workload(SIZES, Load(0.5), flows)


@pytest.mark.parametrize("of", Reference)
def test_a_load_of_hosts_without_links_is_refused(of: Reference) -> None:
    network = Network()
    for _ in range(2):
        network.add_host()
    with pytest.raises(NoPathError):
        Workload(SIZES, Load(0.5, of), 1).drawn(network, Tcp(), seed=1)
