"""CONGA: load estimators, congestion tables and flowlets as computed by hand, and runs against a slow reference."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.packet import _core
from simulator.packet.faults import with_rates
from simulator.packet.flows import Flows
from simulator.packet.load_balancing import LOAD_BALANCERS, Conga, LoadBalancer
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.scenario import Outage, Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import LeafSpine, fat_tree
from simulator.packet.transports import Congestion, Packets, Tcp
from tests.simulator.packet.conga_reference import TwoByTwo
from tests.simulator.packet.scenes import require_conserved

MICROSECOND = 1_000_000
MILLISECOND = 1000 * MICROSECOND
PERIOD = 30 * MICROSECOND
GIGABIT = 10**9

FULL = 187_500
"""Bytes in the estimator of a 10 Gbit/s link that is always full: 10^10 bit/s * 30 us / 0.2 / 8."""


def estimator() -> _core.LoadEstimator:
    return _core.LoadEstimator(10 * GIGABIT, PERIOD, 0.2)


def test_an_estimator_loses_a_fifth_at_every_multiple_of_the_period() -> None:
    load = estimator()
    load.add(1500, 29 * MICROSECOND)
    assert load.bytes(PERIOD - 1) == 1500
    assert load.bytes(PERIOD) == pytest.approx(1200)
    load.add(300, PERIOD)
    assert load.bytes(2 * PERIOD - 1) == pytest.approx(1500)
    assert load.bytes(2 * PERIOD) == pytest.approx(1200)
    assert load.bytes(5 * PERIOD) == pytest.approx(1200 * 0.512)


def test_an_estimator_that_is_idle_for_long_is_empty() -> None:
    load = estimator()
    load.add(1_000_000, 0)
    assert load.bytes(10**6 * MICROSECOND) == 0
    load.add(800, 10**6 * MICROSECOND)
    assert load.bytes(10**6 * MICROSECOND) == 800


def test_the_estimate_of_a_full_link_swings_between_all_and_four_fifths() -> None:
    """37,500 bytes fit into 30 us: X = 0.8 (X + 37,500) has the solution 150,000."""
    load = estimator()
    for period in range(100):
        load.add(37_500, period * PERIOD)
    assert load.bytes(99 * PERIOD) == pytest.approx(FULL)
    assert load.bytes(100 * PERIOD) == pytest.approx(150_000)


@pytest.mark.parametrize(
    ("size", "level"),
    [(0, 0), (23_437, 0), (23_438, 1), (93_749, 3), (93_750, 4), (164_062, 6), (164_063, 7), (187_500, 7), (10**6, 7)],
)
def test_a_load_has_three_bits_in_steps_of_an_eighth_of_a_full_link(size: int, level: int) -> None:
    load = estimator()
    load.add(size, 0)
    assert load.level(3, 0) == level


def test_a_load_falls_from_step_to_step_while_a_link_is_idle() -> None:
    """187,500 bytes times 0.8^n, in steps of 23,437.5."""
    load = estimator()
    load.add(FULL, 0)
    assert [load.level(3, n * PERIOD) for n in range(12)] == [7, 6, 5, 4, 3, 2, 2, 1, 1, 1, 0, 0]


def test_reports_go_round_and_favour_loads_that_have_changed() -> None:
    table = _core.CongestionTable(10 * MILLISECOND)
    assert table.report(0) is None
    for tag, level in ((0, 3), (2, 5), (3, 1)):
        table.record(tag, level, 0)
    assert [table.report(1) for _ in range(3)] == [(0, 3), (2, 5), (3, 1)]
    assert [table.report(2) for _ in range(4)] == [(0, 3), (2, 5), (3, 1), (0, 3)]  # none has changed
    table.record(0, 4, 3)
    table.record(2, 5, 3)  # as before
    assert [table.report(4) for _ in range(3)] == [(0, 4), (2, 5), (3, 1)]  # the changed one out of turn
    table.record(3, 2, 5)
    table.record(3, 1, 5)  # has been reported so
    assert table.report(6) == (0, 4)


def test_loads_without_news_age() -> None:
    table = _core.CongestionTable(10 * MILLISECOND)
    table.learn(1, 6, MILLISECOND)
    table.record(1, 6, MILLISECOND)
    table.record(2, 3, 2 * MILLISECOND)
    assert (table.level(0, MILLISECOND), table.level(1, MILLISECOND)) == (0, 6)
    assert table.level(1, 11 * MILLISECOND) == 6
    assert table.level(1, 11 * MILLISECOND + 1) == 0
    assert [table.report(11 * MILLISECOND + 1) for _ in range(2)] == [(2, 3), (2, 3)]
    assert table.report(12 * MILLISECOND + 1) is None
    table.record(1, 6, 13 * MILLISECOND)
    assert table.report(13 * MILLISECOND) == (1, 6)
    table.learn(1, 2, 13 * MILLISECOND)
    assert table.level(1, 23 * MILLISECOND) == 2


def fabric(cables: int = 1) -> Network:
    return LeafSpine(2, 2, 2, 10_000.0, 10_000.0, 1e-6, cables).network(Fifo())


def uplinks(network: Network, leaf: int) -> list[int]:
    return [link for link in network.outputs[leaf] if network.links[link].target not in network.hosts]


@pytest.mark.parametrize(("pause", "moves"), [(20_000_000, False), (20_000_001, True)])
def test_a_flowlet_ends_after_more_than_the_gap(pause: int, *, moves: bool) -> None:
    """40 packets of 1500 bytes, 1.2 us each, make 52,500 bytes in the estimator at 48 us, and 42,000 from 60 us on.

    So the other uplink, without load, is better for a packet that comes 20 us later, but only for a new flowlet.
    """
    network = fabric()
    last = 39 * 1_200_000
    times = [*range(0, last + 1, 1_200_000), last + pause]
    flow = Flows.of(0, 2, Packets(np.array(times) / 1e12, np.full(41, 1500)))
    balancer = LoadBalancer(forwarding=Conga(gap=2e-5))
    simulation = Simulation(network, [flow], Setting(load_balancer=balancer))
    simulation.run()
    sent = sorted(simulation.link_results().sent_packets[uplinks(network, 4)].tolist())
    assert sent == ([1, 40] if moves else [0, 41])


def test_a_flowlet_stays_where_it_was_among_equally_loaded_uplinks() -> None:
    network = fabric()
    flow = Flows.of(0, 2, Packets(np.linspace(0, 49e-3, 50), np.full(50, 1500)))
    simulation = Simulation(network, [flow], Setting(load_balancer=LOAD_BALANCERS["conga"]))
    simulation.run()
    assert sorted(simulation.link_results().sent_packets[uplinks(network, 4)].tolist()) == [0, 50]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("slow", [None, 2_000.0])
def test_packets_take_the_links_that_the_reference_chooses(seed: int, slow: float | None) -> None:
    """Bursts of many flows both ways between two leaves: every uplink has carried as many packets, at every moment."""
    draws = np.random.default_rng(seed)
    network = fabric()
    if slow is not None:
        network = with_rates(network, {uplinks(network, 4)[0]: slow, uplinks(network, 6)[1]: slow})
    rules = Conga(gap=2e-5, period=1e-5, aging=3e-4)
    ends, times, sizes, groups = [], [], [], []
    for _ in range(20):
        source = int(draws.integers(0, 4))
        target = int(draws.integers(2, 4)) - 2 * (source // 2)
        count = int(draws.integers(20, 120))
        bursts = np.where(draws.random(count) < 0.15, draws.exponential(1e-4, count), draws.exponential(2e-6, count))
        when = np.rint((draws.uniform(0, 1e-3) + np.cumsum(bursts)) * 1e12).astype(np.int64)
        size = draws.integers(64, 1501, count)
        ends.append((source, target))
        times.append(when)
        sizes.append(size)
        groups.append(Flows.of(source, target, Packets(when / 1e12, size)))
    simulation = Simulation(network, groups, Setting(seed=seed, load_balancer=LoadBalancer(forwarding=rules)))
    reference = TwoByTwo(network, rules, seed)
    for flow, (source, target) in enumerate(ends):
        reference.send(flow, source, target, times[flow].tolist(), sizes[flow].tolist())
    watched = uplinks(network, 4) + uplinks(network, 5)
    for until in np.linspace(2e-4, 6e-3, 30):
        simulation.run(until)
        reference.run(round(until * 1e12))
        links = simulation.link_results()
        assert links.sent_packets[watched].tolist() == [reference.begun[link] for link in watched]
    assert min(reference.begun[link] for link in watched) > 0
    assert reference.moved > 20


def tcp_flows(hosts: int, seed: int, count: int = 60) -> Flows:
    draws = np.random.default_rng(seed)
    source = draws.integers(0, hosts, count)
    target = (source + draws.integers(1, hosts, count)) % hosts
    tcp = Tcp(congestion=Congestion.DCTCP, min_timeout=1e-3, first_timeout=1e-3)
    return Flows.of(source, target, tcp, size=draws.integers(1, 300_000, count), start=draws.uniform(0, 5e-3, count))


@pytest.mark.parametrize("name", ["conga", "letflow"])
@pytest.mark.parametrize("seed", range(8))
def test_no_packet_goes_into_a_link_that_is_known_to_be_down(name: str, seed: int) -> None:
    draws = np.random.default_rng(seed)
    network = LeafSpine(3, 3, 2, 1_000.0, 1_000.0, 1e-6, 2).network(Fifo(60_000, Threshold(20_000)))
    between = [number for number, link in enumerate(network.links) if min(link.source, link.target) >= 6]
    failed = draws.choice(between, 6, replace=False).tolist()
    outages = [Outage(link, 1e-3, detected=5e-4, heals=4e-3) for link in failed]
    setting = Setting(seed, outages, load_balancer=LOAD_BALANCERS[name])
    simulation = Simulation(network, [tcp_flows(6, seed)], setting)
    simulation.run(1.5e-3)
    before = simulation.link_results()
    simulation.run(3.999e-3)
    after = simulation.link_results()
    for counter in ("sent_packets", "lost_packets", "dropped_packets"):
        assert (getattr(before, counter)[failed] == getattr(after, counter)[failed]).all()
    simulation.run()
    require_conserved(simulation)
    assert simulation.unfinished == 0
    assert simulation.link_results().sent_packets[failed].sum() > after.sent_packets[failed].sum()


@pytest.mark.parametrize("name", ["conga", "letflow"])
@pytest.mark.parametrize("cables", [1, 2])
def test_a_flow_of_one_flowlet_arrives_in_order(name: str, cables: int) -> None:
    """Without drops nothing but packets out of order makes TCP recover."""
    network = LeafSpine(4, 3, 4, 1_000.0, 500.0, 1e-6, cables).network(Fifo(marking=Threshold(15_000)))
    rules = LOAD_BALANCERS[name].forwarding
    balancer = LoadBalancer(forwarding=type(rules)(gap=1.0))  # type: ignore[call-arg]  # both have a gap
    simulation = Simulation(network, [tcp_flows(16, 5, 200)], Setting(load_balancer=balancer))
    simulation.run()
    results = simulation.flow_results()
    assert simulation.unfinished == 0
    assert results.recoveries.sum() == 0
    assert results.dropped.sum() == 0


@pytest.mark.parametrize(
    "network",
    [fat_tree(4, 1_000.0, 1e-6, Fifo(60_000, Threshold(20_000))), fabric(3)],
    ids=["three tiers", "parallel cables"],
)
def test_other_networks_divide_flows_at_their_first_switch(network: Network) -> None:
    simulation = Simulation(
        network, [tcp_flows(len(network.hosts), 3, 200)], Setting(load_balancer=LOAD_BALANCERS["conga"])
    )
    simulation.run()
    require_conserved(simulation)
    assert simulation.unfinished == 0
    leaf = network.links[network.outputs[0][0]].target
    assert simulation.link_results().sent_packets[uplinks(network, leaf)].min() > 0


def test_less_goes_by_a_slow_spine_than_by_a_fast_one() -> None:
    """The slow link is behind the spine: only reports of the other leaf can tell."""
    network = fabric()
    behind = next(link for link in network.outputs[6] if network.links[link].target == 5)
    network = with_rates(network, {behind: 1_000.0})
    tcp = Tcp(congestion=Congestion.DCTCP, min_timeout=1e-3, first_timeout=1e-3)
    flows = Flows.of([0, 1] * 40, [2, 3] * 40, tcp, size=150_000, start=np.arange(80) * 3e-4)
    simulation = Simulation(network, [flows], Setting(load_balancer=LOAD_BALANCERS["conga"]))
    simulation.run()
    slow, fast = simulation.link_results().sent_bytes[uplinks(network, 4)].tolist()
    assert fast > 2 * slow
