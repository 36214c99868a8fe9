"""Senders' path selection in whole simulations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.packet import _core
from simulator.packet.credited import Credited
from simulator.packet.flows import Flows
from simulator.packet.load_balancing import (
    LOAD_BALANCERS,
    CloveEcn,
    FixedPath,
    FlowBender,
    Hermes,
    LoadBalancer,
    PathsInTurn,
)
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, StrictPriority, Threshold
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import LeafSpine
from simulator.packet.transports import Congestion, ConstantRate, Packets, Tcp
from tests.simulator.packet.disciplines import mixed
from tests.simulator.packet.scenes import require_conserved, simulations

SPINES = 4
QUEUE = Fifo(40_000, Threshold(15_000))
FABRIC = LeafSpine(2, SPINES, 4, 1_000.0, 1_000.0, 1e-6)
DCTCP = Tcp(congestion=Congestion.DCTCP, min_timeout=1e-3, first_timeout=1e-3)
SENDERS = sorted(name for name, each in LOAD_BALANCERS.items() if not isinstance(each.choice, FixedPath))


def uplinks(network: Network) -> list[int]:
    """The links from the first leaf to the spines."""
    leaf = len(network.hosts)
    return [link for link in network.outputs[leaf] if network.links[link].target not in network.hosts]


def packets_at(times: list[float]) -> Packets:
    return Packets(np.array(times), np.full(len(times), 1_000))


def tcp_flows(seed: int, count: int = 40) -> Flows:
    random = np.random.default_rng(seed)
    source = random.integers(0, 8, count)
    target = (source + random.integers(1, 8, count)) % 8
    return Flows.of(
        source, target, DCTCP, size=random.integers(1, 200_000, count), start=random.uniform(0, 5e-3, count)
    )


def sent(simulation: Simulation, network: Network) -> list[int]:
    result: list[int] = simulation.link_results().sent_packets[uplinks(network)].tolist()
    return result


def test_flows_between_two_hosts_share_their_turns() -> None:
    network = FABRIC.network(QUEUE)
    flows = [Flows.of(0, 5, packets_at([1e-4 * number])) for number in range(12)]
    simulation = Simulation(network, flows, Setting(load_balancer=LOAD_BALANCERS["drb"]))
    simulation.run()
    assert sent(simulation, network) == [3, 3, 3, 3]


@pytest.mark.parametrize("way", ["up", "down"])
def test_turns_follow_the_capacity_of_paths(way: str) -> None:
    """A link of one of the four paths has a fifth of the others' rate: 5, 5, 5 and 1 of 16 packets."""
    network = FABRIC.network(QUEUE)
    slow = uplinks(network)[2]
    if way == "down":
        slow = next(link for link in network.outputs[network.links[slow].target] if network.links[link].target == 9)
    network.links[slow] = replace(network.links[slow], rate=200.0)
    flow = Flows.of(0, 5, packets_at(np.linspace(0, 1e-2, 160).tolist()))
    simulation = Simulation(network, [flow], Setting(load_balancer=LOAD_BALANCERS["presto"]))
    simulation.run()
    assert sent(simulation, network) == [50, 50, 10, 50]


@pytest.mark.parametrize(("weights", "counts"), [("by capacity", [50, 50, 10, 50]), ("equal", [40, 40, 40, 40])])
def test_packets_take_a_path_several_times_in_a_row(weights: str, counts: list[int]) -> None:
    """Ten by each path of 1 Gbit/s, and two by the one of 200 Mbit/s unless weights are equal."""
    network = FABRIC.network(QUEUE)
    slow = uplinks(network)[2]
    network.links[slow] = replace(network.links[slow], rate=200.0)
    flow = Flows.of(0, 5, packets_at(np.linspace(0, 1e-2, 160).tolist()))
    choice = PathsInTurn(weighted=weights == "by capacity", in_a_row=10)
    simulation = Simulation(network, [flow], Setting(load_balancer=LoadBalancer(choice=choice)))
    orders = []
    for time in np.linspace(0, 1e-2, 160)[:-1]:
        simulation.run(time + 5e-5)
        orders.append(sent(simulation, network))
    simulation.run()
    assert sent(simulation, network) == counts
    paths = np.argmax(np.diff([[0, 0, 0, 0], *orders], axis=0), axis=1)
    changes = np.flatnonzero(np.diff(paths)) + 1
    assert set(np.diff(changes).tolist()) == ({2, 10} if weights == "by capacity" else {10})


def test_turns_follow_other_rates_than_those_of_the_links() -> None:
    """As above, but the slow uplink is taken for fast, and another one for slow."""
    network = FABRIC.network(QUEUE)
    mistaken, slow = uplinks(network)[1:3]
    rates = [200.0 if number == mistaken else 1000.0 for number in range(len(network.links))]
    network.links[slow] = replace(network.links[slow], rate=200.0)
    flow = Flows.of(0, 5, packets_at(np.linspace(0, 1e-2, 160).tolist()))
    setting = Setting(load_balancer=LoadBalancer(choice=PathsInTurn(weighted=True, rates=rates)))
    simulation = Simulation(network, [flow], setting)
    simulation.run()
    assert sent(simulation, network) == [50, 10, 50, 50]


def test_flowlets_of_senders_do_as_the_reference_does() -> None:
    """Without marks all weights are equal, and a path is drawn whenever a packet comes more than the gap later."""
    network = FABRIC.network(QUEUE)
    times = np.cumsum(np.random.default_rng(4).choice([2e-5, 9e-5, 1.2e-4, 5e-4], 300))
    balancer = LoadBalancer(choice=CloveEcn(gap=1e-4))
    simulation = Simulation(network, [Flows.of(0, 5, packets_at(times.tolist()))], Setting(7, load_balancer=balancer))
    simulation.run()
    draws = iter(_core.Random(mixed(7 + 0x636C6F7665)).unit(300).tolist())
    counts, before, path = [0] * SPINES, -1.0, 0
    for time in times:
        path = int(next(draws) * SPINES) if before < 0 or time - before > 1e-4 else path
        before = time
        counts[path] += 1
    assert sent(simulation, network) == counts


@pytest.mark.parametrize("choice", [CloveEcn(gap=1e-4), Hermes(probing=False)])
def test_acknowledgements_take_a_path_by_hash_or_another_after_each_pause(choice: CloveEcn | Hermes) -> None:
    """The data of a round trip of 8 ms is acknowledged within less than one, in four bursts."""
    network = LeafSpine(2, SPINES, 4, 1_000.0, 1_000.0, 1e-3).network(QUEUE)
    back = [link for link in network.outputs[9] if network.links[link].target > 9]
    for hashed in (True, False):
        taken = np.zeros(SPINES)
        for number in range(24):
            balancer = LoadBalancer(choice=replace(choice, hashed_answers=hashed))
            flows = Flows.of(0, 5, replace(DCTCP, first_timeout=1.0, min_timeout=1.0), size=200_000)
            simulation = Simulation(network, [flows], Setting(seed=number, load_balancer=balancer))
            simulation.run()
            ways = simulation.link_results().sent_packets[back] > 0
            assert ways.sum() == 1 or not hashed
            taken += ways
        assert (taken > 0).all()
        assert (taken.sum() == 24) == hashed


def congested_spine(balancer: LoadBalancer) -> tuple[Simulation, Network]:
    """A long flow, and from 5 ms on constant rates by its first path that leave it a twentieth of a link."""
    network = FABRIC.network(StrictPriority([Fifo(400_000), Fifo(400_000, Threshold(15_000))]))
    up = uplinks(network)
    tcp = replace(DCTCP, prior_acks=True)
    setting = Setting(seed=2, load_balancer=balancer)
    simulation = Simulation(network, [Flows.of(0, 5, tcp, size=20_000_000, level=1)], setting)
    simulation.run(5e-3)
    taken = simulation.link_results().sent_packets
    path = max(up, key=lambda link: taken[link])
    spine = network.links[path].target
    down = next(link for link in network.outputs[spine] if network.links[link].target == 9)
    first = [network.outputs[host][0] for host in (1, 2)]
    last = [next(link for link in network.outputs[9] if network.links[link].target == host) for host in (6, 7)]
    routes = [([first[place], path, down, last[place]], [network.outputs[6 + place][0]]) for place in range(2)]
    back = next(link for link in network.outputs[9] if network.links[link].target == spine)
    up_again = next(link for link in network.outputs[spine] if network.links[link].target == 8)
    ends = [next(link for link in network.outputs[8] if network.links[link].target == host) for host in (1, 2)]
    paths = [(there, [*begin, back, up_again, ends[place]]) for place, (there, begin) in enumerate(routes)]
    simulation.add_flows(Flows.of([1, 2], [6, 7], ConstantRate(475.0), size=0, start=5e-3, level=1, paths=paths))
    simulation.run(30e-3)
    return simulation, network


def test_hermes_leaves_a_congested_path_for_a_better_one() -> None:
    stays, _ = congested_spine(LoadBalancer(choice=Hermes(rerouting=False)))
    assert stays.path_totals().moves == 0
    moves, _ = congested_spine(LoadBalancer(choice=Hermes(rate=1.0)))
    assert moves.path_totals().moves >= 1
    gained = moves.flow_results().goodput[0] / stays.flow_results().goodput[0]
    assert gained > 1.5


@pytest.mark.parametrize(("better", "moves"), [(1.5e-3, 1), (1.8e-3, 0)])
def test_hermes_moves_a_flow_only_if_the_difference_of_the_delays_is_large_enough(
    better: float, moves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over links of 40 us the congested path takes up to 1.8 ms and the others .16 ms (Algorithm 2, Delta_RTT)."""
    monkeypatch.setattr(f"{__name__}.FABRIC", LeafSpine(2, SPINES, 4, 1_000.0, 1_000.0, 40e-6))
    rules = Hermes(rate=1.0, better_round_trip=better, better_marked=0.0)
    simulation, _ = congested_spine(LoadBalancer(choice=rules))
    assert simulation.path_totals().moves == moves


@pytest.mark.parametrize("rules", [Hermes(rate=1.0, sent=10**9), Hermes(rate=0.0), Hermes(rate=1.0, reroute_share=0.0)])
def test_hermes_keeps_flows_that_are_short_or_fast_where_they_are(rules: Hermes) -> None:
    simulation, _ = congested_spine(LoadBalancer(choice=rules))
    assert simulation.path_totals().moves == 0


@pytest.mark.parametrize("least", [200_000, 1_000_000, 3_000_000])
def test_a_flow_of_hermes_leaves_a_path_after_as_many_bytes_or_a_timeout(least: int) -> None:
    network = FABRIC.network(QUEUE)
    flows = Flows.of(np.arange(16) % 4, 4 + np.arange(16) // 4, DCTCP, size=10_000_000)
    # Flows leave paths that are taken for failed whatever they have sent.
    rules = Hermes(
        rate=1.0, sent=least, high=100e-6, better_round_trip=20e-6, better_marked=0.01, detects_failures=False
    )
    simulation = Simulation(network, [flows], Setting(seed=5, load_balancer=LoadBalancer(choice=rules)))
    simulation.run()
    results = simulation.flow_results()
    most = int((results.sent * flows.transport.largest_packet // least).sum() + results.timeouts.sum())
    assert 0 < simulation.path_totals().moves <= most


@pytest.mark.parametrize("rules", [Hermes(one_way=True), Hermes(one_way=False)])
def test_acknowledgements_that_wait_move_flows_by_the_round_trip_alone(rules: Hermes) -> None:
    """Two hosts of the same rack fill the last link of all acknowledgements, but not of answers to probes."""
    network = FABRIC.network(StrictPriority([Fifo(400_000), Fifo(40_000)]))
    balancer = LoadBalancer(choice=replace(rules, rate=1.0, uses_ecn=False))
    flows = [
        Flows.of(0, 5, replace(DCTCP, min_timeout=1.0, first_timeout=1.0), size=20_000_000, level=1),
        Flows.of([1, 2], 0, ConstantRate(498.0), size=0, level=1),
    ]
    simulation = Simulation(network, flows, Setting(seed=3, load_balancer=balancer))
    simulation.run(0.1)
    assert simulation.flow_results().goodput[0] > 5_000_000
    assert (simulation.path_totals().moves == 0) == rules.one_way


def test_hermes_finds_links_that_have_failed_without_anyone_knowing() -> None:
    """Many flows meet the dead links at once; three timeouts tell those to the same host that the path is dead."""
    network = FABRIC.network(Fifo(4_000_000, Threshold(15_000)))
    dead = uplinks(network)[:3]
    tcp = replace(DCTCP, min_timeout=0.02, first_timeout=0.02)
    flows = Flows.of([0] * 24, [5] * 24, tcp, size=20_000)
    for balancer in (LoadBalancer(choice=Hermes(probing=False)), LOAD_BALANCERS["fixed"]):
        simulation = Simulation(network, [flows], Setting(seed=3, load_balancer=balancer))
        for link in dead:
            simulation.fail(link, known=False)
        simulation.run(2.0)
        if isinstance(balancer.choice, FixedPath):
            assert simulation.unfinished > 10
            continue
        assert simulation.unfinished == 0
        assert simulation.path_totals().failed == 3
        lost = simulation.link_results().lost_packets[dead]
        simulation.add_flows(Flows.of([0] * 20, [5] * 20, tcp, size=20_000, start=2.0))
        simulation.run(3.0)
        assert (simulation.link_results().lost_packets[dead] == lost).all()


def test_hermes_avoids_a_path_that_drops_at_random() -> None:
    network = FABRIC.network(Fifo(400_000, Threshold(60_000)))
    lossy = uplinks(network)[0]
    network.links[lossy] = replace(network.links[lossy], loss=0.03)
    flows = Flows.of([0, 1, 2, 3], [4, 5, 6, 7], DCTCP, size=10_000_000)
    shares = {}
    for detects in (True, False):
        balancer = LoadBalancer(choice=Hermes(detects_failures=detects))
        simulation = Simulation(network, [flows], Setting(seed=5, load_balancer=balancer))
        simulation.run(0.3)
        shares[detects] = simulation.link_results().sent_packets[lossy] / sum(sent(simulation, network))
        assert (simulation.path_totals().failed > 0) == detects
    assert shares[True] < 0.5 * shares[False]


@pytest.mark.parametrize("seed", range(1, 5))
def test_losses_of_full_queues_are_no_sign_that_a_path_has_failed(seed: int) -> None:
    """Without probes only hosts know that the queue is full, and the rack only what they lose."""
    network = LeafSpine(2, 2, 4, 1_000.0, 500.0, 1e-6).network(Fifo(400_000))
    reno = replace(DCTCP, congestion=Congestion.NEW_RENO)
    hosts = np.arange(16) % 4
    flows = Flows.of(hosts, 4 + np.arange(16) // 4, reno, size=1_000_000, start=2e-3 * np.arange(16))
    balancer = LoadBalancer(choice=Hermes(uses_ecn=False, high=100e-6, probing=False))
    simulation = Simulation(network, [flows], Setting(seed=seed, load_balancer=balancer))
    simulation.run()
    assert simulation.flow_results().dropped.sum() > 100
    assert simulation.path_totals().failed == 0


@pytest.mark.parametrize("rules", [Hermes(shares_data=True), Hermes(shares_data=False)])
def test_hosts_avoid_the_flows_of_others_of_their_rack_if_these_tell_of_them(rules: Hermes) -> None:
    network = FABRIC.network(QUEUE)
    flows = Flows.of([0, 1, 2, 3], [4, 5, 6, 7], DCTCP, size=500_000, start=[0.0, 1e-3, 2e-3, 3e-3])
    uses_all = []
    for seed in range(8):
        balancer = LoadBalancer(choice=replace(rules, probing=False, rerouting=False))
        simulation = Simulation(network, [flows], Setting(seed=seed, load_balancer=balancer))
        simulation.run(3.5e-3)
        uses_all.append(min(sent(simulation, network)) > 0)
    assert all(uses_all) == rules.shares_data


@pytest.mark.parametrize("rules", [Hermes(shares_data=True), Hermes(shares_data=False)])
def test_a_host_hears_of_the_losses_of_another_of_its_rack(rules: Hermes) -> None:
    network = FABRIC.network(Fifo(400_000, Threshold(60_000)))
    lossy = uplinks(network)[0]
    network.links[lossy] = replace(network.links[lossy], loss=0.03)
    flows = Flows.of([0] * 8, [4, 5, 6, 7] * 2, DCTCP, size=10_000_000)
    balancer = LoadBalancer(choice=replace(rules, probing=False))
    simulation = Simulation(network, [flows], Setting(seed=5, load_balancer=balancer))
    simulation.run()
    assert simulation.path_totals().failed == 1
    before = simulation.link_results().sent_packets[lossy]
    begins = simulation.now + 1e-3 * np.arange(20)
    simulation.add_flows(Flows.of([1] * 20, [4, 5, 6, 7] * 5, DCTCP, size=20_000, start=begins))
    simulation.run()
    assert simulation.unfinished == 0
    assert simulation.link_results().sent_packets[lossy] == before


def test_flowbender_takes_another_path_after_a_timeout() -> None:
    network = FABRIC.network(QUEUE)
    flows = Flows.of([0, 1, 2, 3], [4, 5, 6, 7], DCTCP, size=20_000)
    for name, choice in (("moves", FlowBender()), ("stays", FixedPath())):
        simulation = Simulation(network, [flows], Setting(seed=1, load_balancer=LoadBalancer(choice=choice)))
        for link in uplinks(network)[:3]:
            simulation.fail(link, known=False)
        simulation.run(30.0)
        assert (simulation.unfinished == 0) == (name == "moves")


@pytest.mark.parametrize("name", SENDERS)
def test_senders_never_use_a_link_once_they_know_that_it_is_down(name: str) -> None:
    network = FABRIC.network(QUEUE)
    simulation = Simulation(network, [tcp_flows(3)], Setting(load_balancer=LOAD_BALANCERS[name]))
    simulation.run(2e-3)
    down = uplinks(network)[2]
    back = next(link for link in network.outputs[10] if network.links[link].target == 8)
    links = simulation.link_results()
    simulation.fail(down)
    simulation.fail(back)
    simulation.run(3e-3)  # until hosts' cards have sent what they had
    before = simulation.link_results().lost_packets[[down, back]]
    assert links.sent_packets[down] > 0
    simulation.run()
    require_conserved(simulation)
    assert simulation.unfinished == 0
    assert (simulation.link_results().lost_packets[[down, back]] == before).all()


def test_probes_are_counted_and_go_to_two_random_paths_and_the_best() -> None:
    """Racks know of a best path from answers alone: rounds have 0, 4 and 6 questions, all answered."""
    network = FABRIC.network(StrictPriority([Fifo(), Fifo(400_000, Threshold(65_000))]))
    balancer = LoadBalancer(choice=Hermes())
    simulation = Simulation(network, [Flows.of(0, 5, DCTCP, size=5_000_000, level=1)], Setting(load_balancer=balancer))
    counted = []
    for until in (4e-4, 9e-4, 1.4e-3):
        simulation.run(until)
        counted.append(simulation.totals().probes)
    assert counted == [0, 8, 20]
    assert simulation.totals().probe_bytes == 20 * 64
    simulation.run()
    require_conserved(simulation)
    assert simulation.totals().in_flight == 0


def test_a_probe_whose_own_way_back_is_down_is_answered_by_the_next() -> None:
    """All four paths there are asked, and the three back that are up: two packets for each question."""
    network = FABRIC.network(StrictPriority([Fifo(), Fifo(400_000, Threshold(65_000))]))
    balancer = LoadBalancer(choice=Hermes(probe_paths=SPINES))
    simulation = Simulation(network, [Flows.of(0, 5, DCTCP, size=5_000_000, level=1)], Setting(load_balancer=balancer))
    simulation.run(4e-4)
    simulation.fail(next(link for link in network.outputs[9] if network.links[link].target == 10))
    simulation.run(9e-4)
    assert simulation.totals().probes == 2 * (SPINES + SPINES - 1)


def test_without_probing_no_probes_are_sent() -> None:
    network = FABRIC.network(QUEUE)
    setting = Setting(load_balancer=LoadBalancer(choice=Hermes(probing=False)))
    simulation = Simulation(network, [tcp_flows(1)], setting)
    simulation.run()
    assert simulation.totals().probes == 0


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(simulations(SENDERS), st.data())
def test_links_known_to_be_down_get_nothing_from_senders(simulation: Simulation, data: st.DataObject) -> None:
    """Packets that hosts had sent before they knew may still come there for a moment."""
    simulation.run(0.0015)
    network = simulation.network
    of_one_path = any(isinstance(group.transport, Credited) and group.transport.symmetric for group in simulation.flows)
    if len(network.links) < 12 or simulation.setting.outages or of_one_path:
        return  # there may be no other path
    up = [link for link in network.outputs[4] if network.links[link].target >= 6]
    down = data.draw(st.sampled_from(up))
    simulation.fail(down)
    simulation.run(0.15)
    require_conserved(simulation)
    lost = simulation.link_results().lost_packets[down]
    simulation.run(1.0)
    assert simulation.link_results().lost_packets[down] == lost


def test_turns_do_not_depend_on_other_flows() -> None:
    network = FABRIC.network(QUEUE)
    flow = Flows.of(0, 5, packets_at(np.linspace(0, 1e-2, 41).tolist()))
    setting = Setting(load_balancer=LoadBalancer(choice=PathsInTurn()))
    counts = []
    for others in ([], [Flows.of(4, 1, packets_at([1e-3, 2e-3]))]):
        simulation = Simulation(network, [flow, *others], setting)
        simulation.run()
        counts.append(sent(simulation, network))
    assert counts[0] == counts[1]
