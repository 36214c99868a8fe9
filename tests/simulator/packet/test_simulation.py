"""The engine: times to the picosecond, order, failures, readings during a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kuijia_base.errors import UnsoundError
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Crosspoints, Fifo, Queueing, Red, RoundRobin, StrictPriority, Threshold, TokenBucket
from simulator.packet.routing import NoPathError
from simulator.packet.scenario import Outage, Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import LeafSpine, single_switch
from simulator.packet.transports import Congestion, ConstantRate, Packets, Tcp
from tests.simulator.packet.scenes import bottleneck, bottleneck_link, require_conserved

FABRIC = LeafSpine(4, 4, 4, 1000.0, 1000.0, 2e-6)


def random_flows(count: int, *, seed: int = 1) -> Flows:
    random = np.random.default_rng(seed)
    source = random.integers(0, 16, count)
    return Flows.of(
        source,
        (source + random.integers(1, 16, count)) % 16,
        Tcp(congestion=Congestion.DCTCP, min_timeout=1e-3),
        size=random.integers(1, 300_000, count),
        start=random.uniform(0, 5e-3, count),
    )


def busy(seed: int = 1, queueing: Queueing | None = None) -> Simulation:
    network = FABRIC.network(queueing or Fifo(limit=30_000, marking=Threshold(12_000)))
    return Simulation(network, [random_flows(100)], Setting(seed=seed))


def test_a_packet_takes_sending_and_delay_of_every_link_to_the_picosecond() -> None:
    network = single_switch(2, 3.0, 1e-6, Fifo())
    simulation = Simulation(network, [Flows.of(0, 1, Packets(np.array([0.5]), np.array([1000])))])
    simulation.run()
    of_a_link = -(-1000 * 8 * 10**12 // 3_000_000) + 10**6
    assert simulation.flow_results().finished * 1e12 == pytest.approx(500_000_000_000 + 2 * of_a_link, abs=1)


def test_time_does_not_go_back_when_the_link_of_a_full_card_fails() -> None:
    """The first packet would leave after 120 ms; those sent to the failed link after it leave at once."""
    tcp = Tcp(initial_window=1, nic_packets=4, first_timeout=0.01, min_timeout=0.01, max_timeout=0.01)
    simulation = Simulation(bottleneck(Fifo(), rate=0.01), [Flows.of(0, 1, tcp)], Setting(outages=[Outage(0, 1e-3)]))
    times = []
    for _ in range(50):
        simulation._core.run(10**12, 1)
        times.append(simulation.now)
    assert times == sorted(times)


def test_a_run_repeats_itself_and_another_seed_does_not() -> None:
    finished = []
    for seed in (1, 1, 2):
        simulation = busy(seed)
        simulation.run()
        finished.append(simulation.flow_results().finished)
    assert (finished[0] == finished[1]).all()
    assert (finished[0] != finished[2]).any()


def test_results_are_those_that_every_machine_gets() -> None:
    simulation = busy()
    simulation.run()
    results = simulation.flow_results()
    picoseconds = np.rint(results.finished * 1e12).astype(np.int64)
    assert int(picoseconds.sum()) == 927_486_726_277
    assert int(results.retransmitted.sum()) == 120


def test_a_run_in_steps_is_the_same_as_a_run_at_once() -> None:
    whole, steps = busy(), busy()
    whole.run()
    for step in range(1, 200):
        steps.run(step * 1e-4)
        require_conserved(steps)
    steps.run()
    assert (whole.flow_results().finished == steps.flow_results().finished).all()
    assert (whole.link_results().sent_bytes == steps.link_results().sent_bytes).all()
    assert whole.link_results().queued_byte_seconds == pytest.approx(steps.link_results().queued_byte_seconds)


@pytest.mark.parametrize("several", [StrictPriority, Crosspoints])
def test_a_scheduler_with_one_queue_in_use_is_a_fifo(several: type[StrictPriority | Crosspoints]) -> None:
    """Two computations of the same: with an event for each end of a transmission, and without."""
    fifo = Fifo(limit=30_000, marking=Threshold(12_000))
    if several is Crosspoints:
        # One input only: every switch is replaced by one that receives nothing else.
        flows, network = Flows.of(0, 1, Tcp(), size=3_000_000), bottleneck(fifo)
        other = bottleneck(Crosspoints(fifo))
    else:
        flows, network = random_flows(100), FABRIC.network(fifo)
        other = FABRIC.network(StrictPriority([fifo, fifo]))
    one, two = Simulation(network, [flows]), Simulation(other, [flows])
    one.run()
    two.run()
    assert (one.flow_results().finished == two.flow_results().finished).all()
    assert (one.link_results().dropped_packets == two.link_results().dropped_packets).all()
    assert (one.link_results().marked_packets == two.link_results().marked_packets).all()
    assert one.link_results().queued_byte_seconds == pytest.approx(two.link_results().queued_byte_seconds)


def test_an_interrupted_run_keeps_what_is_done_and_goes_on() -> None:
    def interrupt(_: Simulation) -> None:
        raise KeyboardInterrupt

    transport = Tcp(congestion=Congestion.DCTCP)
    hosts = np.arange(16)
    network = FABRIC.network(Fifo(limit=30_000, marking=Threshold(12_000)))
    simulation = Simulation(network, [Flows.of(hosts, (hosts + 5) % 16, transport)])
    assert not simulation.run(10.0, interrupt)
    stopped = simulation.now
    assert 0 < stopped < 10
    assert simulation.flow_results().goodput.sum() > 0
    require_conserved(simulation)
    assert simulation.run(stopped + 1e-3)
    with pytest.raises(KeyboardInterrupt):
        simulation.complete(10.0, interrupt)
    simulation.complete(simulation.now + 1e-3)


def test_a_run_tells_how_far_it_has_come_while_it_goes_on() -> None:
    hosts = np.arange(16)
    network = FABRIC.network(Fifo(limit=30_000, marking=Threshold(12_000)))
    flows = Flows.of(hosts, (hosts + 5) % 16, Tcp(congestion=Congestion.DCTCP), size=60_000_000)
    simulation = Simulation(network, [flows])
    seen: list[tuple[float, int]] = []

    def look(now: Simulation) -> None:
        seen.append((now.now, now.unfinished))
        require_conserved(now)

    assert simulation.run(progress=look)
    times, unfinished = ([each[part] for each in seen] for part in range(2))
    assert len(seen) > 1
    assert times == sorted(set(times))
    assert 0 < times[0] < times[-1] <= simulation.now
    assert unfinished[0] == 16
    assert unfinished == sorted(unfinished, reverse=True)
    assert simulation.unfinished == 0


def shares(queueing: Queueing, levels: tuple[int, int], rates: tuple[float, float] = (90.0, 90.0)) -> list[float]:
    """Return the Mbit/s that two hosts' streams get of one egress of 100 Mbit/s."""
    network = single_switch(3, 100.0, 1e-6, queueing)
    groups = [Flows.of(host, 2, ConstantRate(rates[host]), level=levels[host]) for host in range(2)]
    simulation = Simulation(network, groups)
    simulation.run(1.0)
    require_conserved(simulation)
    return [float(goodput) * 8 / 1e6 for goodput in simulation.flow_results().goodput]


def test_strict_priority_serves_the_first_level_first() -> None:
    fifo = Fifo(limit=30_000)
    assert shares(StrictPriority([fifo, fifo]), (1, 0)) == pytest.approx([10, 90], abs=0.5)


def test_levels_beyond_the_last_queue_use_the_last() -> None:
    fifo = Fifo(limit=30_000)
    assert shares(StrictPriority([fifo, fifo]), (7, 0)) == pytest.approx([10, 90], abs=0.5)


def test_round_robin_shares_by_weight() -> None:
    fifo = Fifo(limit=30_000)
    assert shares(RoundRobin([fifo, fifo], [3, 1]), (0, 1)) == pytest.approx([75, 25], abs=0.5)


def test_crosspoints_share_equally_whatever_is_offered() -> None:
    assert shares(Crosspoints(Fifo(limit=30_000)), (0, 0), (100.0, 60.0)) == pytest.approx([50, 50], abs=0.5)


def test_a_token_bucket_holds_its_queue_to_its_rate_and_leaves_the_rest_to_others() -> None:
    shaped = Fifo(limit=30_000, shaping=TokenBucket(20.0, 3000))
    assert shares(StrictPriority([shaped, Fifo(limit=30_000)]), (0, 1)) == pytest.approx([20, 80], abs=0.5)


def test_random_drop_hits_flows_in_proportion_to_what_they_have_waiting() -> None:
    fifo = Fifo(limit=60_000, random_drop=True)
    assert shares(fifo, (0, 0), (90.0, 30.0)) == pytest.approx([75, 25], abs=2)


def test_a_threshold_marks_only_what_finds_more_waiting() -> None:
    network = bottleneck(Fifo(limit=10**7, marking=Threshold(30_000)))
    simulation = Simulation(network, [Flows.of(0, 1, Tcp(congestion=Congestion.CUBIC, ecn=True))])
    simulation.run(2.0)
    links, link = simulation.link_results(), bottleneck_link(network)
    assert links.dropped_packets.sum() == 0
    assert 0 < links.marked_packets[link] < 0.1 * links.sent_packets[link]
    assert links.queued_byte_seconds[link] / 2.0 < 40_000


def test_red_drops_with_the_probability_of_its_average_queue() -> None:
    """Floyd and Jacobson, 1993, section 7: packets between drops are spread evenly, 1 / 2 p of them on average."""
    low, high, most = 15_000, 90_000, 0.2
    network = single_switch(2, 100.0, 1e-6, Fifo(limit=10**7, marking=Red(low, high, most)))
    network.links[0] = replace(network.links[0], rate=1000.0)
    simulation = Simulation(network, [Flows.of(0, 1, ConstantRate(120.0))])
    simulation.run(5.0)
    before = simulation.link_results()
    simulation.run(25.0)
    after = simulation.link_results()
    egress = network.outputs[2][1]
    queue = (after.queued_byte_seconds - before.queued_byte_seconds)[egress] / 20.0
    chance = 1 / 6 / 2  # a sixth of the arrivals is excess
    assert queue == pytest.approx(low + chance / most * (high - low), rel=0.05)


def test_a_failed_link_loses_what_is_on_it_and_flows_go_round_it_once_that_is_known() -> None:
    network = FABRIC.network(Fifo(limit=100_000))
    transport = Tcp(min_timeout=1e-3)
    hosts = np.arange(4)
    plain = Simulation(network, [Flows.of(hosts, hosts + 4, transport)])
    plain.run(0.02)
    up = [link for link in network.outputs[16] if network.links[link].target >= 20]
    used = max(up, key=lambda link: int(plain.link_results().sent_bytes[link]))
    setting = Setting(outages=[Outage(used, fails=0.01, detected=0.002, heals=0.03)])
    simulation = Simulation(network, [Flows.of(hosts, hosts + 4, transport)], setting)
    simulation.run(0.0119)
    stuck = simulation.link_results()
    assert stuck.lost_packets[used] > 0
    assert stuck.queued[used] == 0
    simulation.run(0.03)
    assert simulation.link_results().sent_bytes[used] == stuck.sent_bytes[used]
    goodput = simulation.flow_results().goodput
    simulation.run(0.06)
    require_conserved(simulation)
    assert (simulation.flow_results().goodput > goodput).all()
    assert simulation.link_results().sent_bytes[used] > stuck.sent_bytes[used]


def test_flows_go_round_a_link_until_the_last_of_its_overlapping_failures_is_over() -> None:
    network = FABRIC.network(Fifo(limit=100_000))
    flows = Flows.of([0], [4], Tcp(min_timeout=1e-3))
    plain = Simulation(network, [flows])
    plain.run(0.01)
    up = [link for link in network.outputs[16] if network.links[link].target >= 20]
    used = max(up, key=lambda link: int(plain.link_results().sent_bytes[link]))
    outages = [Outage(used, 0.015, heals=0.03), Outage(used, 0.01, heals=0.02)]
    simulation = Simulation(network, [flows], Setting(outages=outages))
    sent = []
    for moment in (0.0101, 0.0299, 0.05):
        simulation.run(moment)
        sent.append(int(simulation.link_results().sent_bytes[used]))
    assert 0 < sent[0] == sent[1] < sent[2]


def test_flows_take_the_paths_that_they_are_given() -> None:
    network = FABRIC.network(Fifo())
    up, across, down = network.outputs[0], network.outputs[16], network.outputs[20]
    third = next(link for link in across if network.links[link].target == 22)
    there = [up[0], third, next(link for link in network.outputs[22] if network.links[link].target == 17)]
    last = next(link for link in network.outputs[17] if network.links[link].target == 4)
    reverse = [
        next(
            link
            for link in network.outputs[network.links[path].target]
            if network.links[link].target == network.links[path].source
        )
        for path in reversed([*there, last])
    ]
    flows = Flows.of(0, 4, Tcp(), size=100_000, paths=[([*there, last], reverse)])
    simulation = Simulation(network, [flows])
    simulation.run()
    sent = simulation.link_results().sent_packets
    assert sent[third] == sent[last] == 69
    assert sent[down].sum() == 0
    with pytest.raises(UnsoundError, match=r"flows\[0\].path: ends at node 17, expected node 4"):
        Simulation(network, [replace(flows, paths=[(there, reverse)])])


def test_probes_see_the_queue_whose_mean_is_the_integral() -> None:
    network = bottleneck(Fifo(limit=50_000))
    link = bottleneck_link(network)
    simulation = Simulation(network, [Flows.of(0, 1, Tcp())], Setting(probed=[link], probe_every=1e-4))
    simulation.run(2.0)
    times, queued = simulation.probes()
    assert times.size == 20_001
    mean = simulation.link_results().queued_byte_seconds[link] / 2.0
    assert queued[:, 0].mean() == pytest.approx(mean, rel=0.01)
    assert queued.max() <= 50_000


def test_impossible_scenarios_are_refused_with_the_reason() -> None:
    flows = Flows.of(0, 1, Tcp(), size=1000)
    small = single_switch(2, 10.0, 1e-6, Fifo(limit=1000))
    with pytest.raises(UnsoundError, match=r"links\[1\].queueing: its limit of 1000 bytes is less than a packet"):
        Simulation(small, [flows])
    apart = Network()
    apart.add_host()
    apart.add_host()
    with pytest.raises(NoPathError, match="no path leads from node 0 to node 1"):
        Simulation(apart, [flows])
    network = single_switch(2, 10.0, 1e-6, Fifo())
    with pytest.raises(UnsoundError, match="gain must be above 0"):
        Simulation(network, [replace(flows, transport=Tcp(dctcp_gain=2))])
    with pytest.raises(UnsoundError, match="negative or too long"):
        Simulation(network, [replace(flows, start=np.array([-1.0]))])
    with pytest.raises(UnsoundError, match="link 0: rate must be between"):
        Simulation(single_switch(2, 0.0, 1e-6, Fifo()), [flows])


def test_losses_of_links_leave_the_draws_of_queues_as_they_are() -> None:
    """Hosts 0 and 1 fill the random-drop queue to host 2; what host 3 sends to host 0 may be lost, and never waits."""

    def drops(loss: float) -> list[int]:
        network = single_switch(4, 1_000.0, 1e-5, Fifo(9_000, random_drop=True))
        lossy = next(number for number, link in enumerate(network.links) if link.source == 3)
        network.links[lossy] = replace(network.links[lossy], loss=loss)
        times = np.linspace(0.0, 1e-3, 100)
        packets = Packets(times, np.full(100, 1_000))
        filling = [Flows.of(host, 2, Packets(times, np.full(100, 1_250))) for host in (0, 1)]
        simulation = Simulation(network, [*filling, Flows.of(3, 0, packets)], Setting(seed=4))
        simulation.run()
        assert (simulation.totals().lost > 0) == (loss > 0)
        return list(map(int, simulation.flow_results().dropped[:2]))

    without = drops(0.0)
    assert min(without) > 0
    assert drops(0.5) == without
