"""Vegas, Copa and BBR over one bottleneck compared with the equilibria of their papers, and paced segments."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from simulator.packet.flows import Flows
from simulator.packet.queues import Fifo
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.transports import Congestion, Tcp
from tests.simulator.packet.scenes import bottleneck, bottleneck_link, require_conserved

SEGMENT = 1500
SHARE = 1460 / SEGMENT
"""Share of a link's rate that is payload."""


def watched(tcp: Tcp, *, flows: int = 1, rate: float = 100.0, delay: float = 5e-3, limit: int = 10**7) -> Simulation:
    """Some flows over a dumbbell whose round trip is four delays; its queue is probed every millisecond."""
    network = bottleneck(Fifo(limit=limit), pairs=flows, rate=rate, delay=delay)
    hosts = np.arange(flows)
    group = Flows.of(hosts, hosts + flows, tcp, start=0.3 * hosts)
    return Simulation(network, [group], Setting(probed=[bottleneck_link(network)], probe_every=1e-3))


def waiting(simulation: Simulation, since: float) -> NDArray[np.float64]:
    """Full packets in the queue at every probe from some time on."""
    times, queued = simulation.probes()
    return np.asarray(queued[times > since, 0] / SEGMENT, np.float64)


def goodput(simulation: Simulation, since: float, until: float) -> NDArray[np.float64]:
    """Mbit/s of each flow between two times, as a share of a link of 100 Mbit/s that only full segments use."""
    simulation.run(since)
    before = simulation.flow_results().goodput
    simulation.run(until)
    gained = (simulation.flow_results().goodput - before) * 8e-6
    return np.asarray(gained / (until - since) / (100 * SHARE), np.float64)


def jain(values: NDArray[np.float64]) -> float:
    return float(values.sum() ** 2 / (values.size * (values**2).sum()))


@pytest.mark.parametrize(("alpha", "beta"), [(2.0, 4.0), (10.0, 12.0), (5.0, 5.0)])
def test_vegas_keeps_alpha_to_beta_packets_waiting(alpha: float, beta: float) -> None:
    simulation = watched(Tcp(congestion=Congestion.VEGAS, vegas_alpha=alpha, vegas_beta=beta))
    assert goodput(simulation, 4.0, 6.0).sum() == pytest.approx(1.0, rel=0.005)
    queue = waiting(simulation, 4.0)
    assert alpha - 1 <= queue.mean() <= beta + 1  # one more is being sent and does not wait
    assert np.ptp(queue) <= 3
    assert simulation.flow_results().dropped.sum() == 0


def test_vegas_doubles_its_window_every_other_round_trip_until_packets_wait() -> None:
    simulation = watched(Tcp(congestion=Congestion.VEGAS, initial_window=4), delay=10e-3, limit=600_000)
    windows = []
    for step in range(8):
        simulation.run(step * 40.5e-3 + 20e-3)
        windows.append(float(simulation.flow_states().window[0]))
    assert windows[:7] == pytest.approx([4, 8, 8, 16, 16, 32, 32], abs=1)
    simulation.run(10.0)
    assert simulation.flow_results().dropped.sum() == 0


def test_vegas_doubles_its_window_every_round_trip_if_it_does_not_alternate() -> None:
    tcp = Tcp(congestion=Congestion.VEGAS, initial_window=4, vegas_alternates=False)
    simulation = watched(tcp, delay=10e-3, limit=600_000)
    windows = []
    for step in range(4):
        simulation.run(step * 40.5e-3 + 20e-3)
        windows.append(float(simulation.flow_states().window[0]))
    assert windows == pytest.approx([4, 8, 16, 32], abs=1)


def test_random_losses_slow_vegas_less_if_each_takes_one_segment() -> None:
    rates = []
    for keeps in (0.75, 1.0):
        network = bottleneck(Fifo(limit=300_000), delay=5e-3, loss=0.002)
        flows = Flows.of(0, 1, Tcp(congestion=Congestion.VEGAS, vegas_keeps=keeps))
        rates.append(float(goodput(Simulation(network, [flows]), 1.0, 9.0)[0]))
    assert rates[1] > 1.3 * rates[0]


@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_copa_keeps_about_one_by_delta_packets_waiting_and_empties_the_queue_every_few_round_trips(
    delta: float,
) -> None:
    """Section 3 of the paper: in equilibrium the queue swings with a period of five round trips, up to 2.5 / delta."""
    simulation = watched(Tcp(congestion=Congestion.COPA, copa_delta=delta))
    assert goodput(simulation, 5.0, 15.0).sum() == pytest.approx(1.0, rel=0.01)
    queue = waiting(simulation, 5.0)
    assert 0.7 / delta <= queue.mean() <= 1.8 / delta
    assert queue.max() <= 2.5 / delta + 4
    rounds = queue[: queue.size // 100 * 100].reshape(-1, 100)  # of five round trips
    assert (rounds.min(axis=1) <= 0.1 * queue.max() + 1).mean() > 0.9


def test_copa_competes_with_a_flow_that_fills_the_buffer_only_if_it_may() -> None:
    shares = {}
    for competes in (True, False):
        network = bottleneck(Fifo(limit=500_000), pairs=2, delay=5e-3)
        copa = Flows.of(0, 2, Tcp(congestion=Congestion.COPA, copa_competes=competes))
        cubic = Flows.of(1, 3, Tcp())
        simulation = Simulation(network, [copa, cubic])
        got = goodput(simulation, 5.0, 40.0)
        shares[competes] = float(got[0])
    assert shares[False] < 0.15
    assert 0.25 < shares[True] < 0.75


def test_copa_does_not_compete_if_every_delay_counts_as_nearly_empty() -> None:
    network = bottleneck(Fifo(limit=500_000), pairs=2, delay=5e-3)
    copa = Flows.of(0, 2, Tcp(congestion=Congestion.COPA, copa_nearly_empty=1))
    assert goodput(Simulation(network, [copa, Flows.of(1, 3, Tcp())]), 5.0, 40.0)[0] < 0.15


def test_many_copa_flows_settle_with_a_cautious_velocity_only() -> None:
    """A velocity by the paper's letter doubles until the queue of all overflows, again and again."""
    found = {}
    for cautious in (True, False):
        tcp = Tcp(congestion=Congestion.COPA, copa_cautious=cautious, copa_competes=False)
        network = bottleneck(Fifo(limit=500_000), pairs=20, rate=1000.0, delay=10e-3)
        hosts = np.arange(20)
        simulation = Simulation(network, [Flows.of(hosts, hosts + 20, tcp, start=0.001 * hosts)])
        simulation.run(2.0)
        before = simulation.flow_results()
        simulation.run(4.0)
        after = simulation.flow_results()
        lost = float((after.dropped - before.dropped).sum() / (after.sent - before.sent).sum())
        found[cautious] = (float((after.arrived - before.arrived).sum()) * 1500 * 8 / 2.0 / 1e9, lost)
    assert found[True][0] > 0.95
    assert found[True][1] < 0.005
    assert found[False][0] < found[True][0]
    assert found[False][1] > 2 * found[True][1]


@pytest.mark.parametrize("paced", [True, False])
def test_copa_spreads_its_first_window_only_if_it_is_paced(*, paced: bool) -> None:
    tcp = Tcp(congestion=Congestion.COPA, initial_window=40, copa_paced=paced, nic_packets=0)
    simulation = watched(tcp, delay=10e-3)
    simulation.run(0.09)  # the first window leaves at once, the second one paced
    simulation.run(0.11)
    queue = waiting(simulation, 0.06)
    assert (queue.max() < 10) == paced


def test_bbr_fills_the_link_and_has_no_more_than_two_bandwidth_delay_products_in_flight() -> None:
    simulation = watched(Tcp(congestion=Congestion.BBR))
    assert goodput(simulation, 2.0, 9.0).sum() == pytest.approx(1.0, rel=0.02)
    product = 100e6 * 20e-3 / 8 / SEGMENT
    assert waiting(simulation, 2.0).max() <= 0.35 * product  # a quarter more for a round trip, then as much less
    assert simulation.flow_states().window[0] <= 2 * product + 6


def test_bbr_measures_the_round_trip_every_ten_seconds_with_four_segments_in_flight() -> None:
    """Without the margin a packet always waits: no other sample is as small as the least one."""
    simulation = watched(Tcp(congestion=Congestion.BBR, bbr_pacing_margin=0))
    quiet = []
    for step in range(1, 3300):
        simulation.run(step * 10e-3)
        if simulation.flow_states().outstanding[0] <= 4:
            quiet.append(step * 10e-3)
    times = np.array([time for time in quiet if time > 1])
    begun = times[np.diff(times, prepend=-1) > 1]
    assert begun.size == 3
    assert np.diff(begun) == pytest.approx([10.2, 10.2], abs=0.15)
    assert np.histogram(times, [*begun - 0.05, np.inf])[0] == pytest.approx([20, 20, 20], abs=4)  # 200 ms each


@pytest.mark.parametrize("gain", [0.25, 0.1])
def test_bbr_sends_more_and_then_less_in_two_of_eight_round_trips(gain: float) -> None:
    simulation = watched(Tcp(congestion=Congestion.BBR, bbr_probing_gain=gain))
    simulation.run(3.0)
    sent = []
    for step in range(1, 801):
        simulation.run(3.0 + step * 5e-3)
        sent.append(int(simulation.flow_results().sent[0]))
    rate = np.diff(sent) * SEGMENT * 8 / 5e-3 / 100e6
    assert np.percentile(rate, 97) == pytest.approx(1 + gain, abs=0.08)
    assert np.percentile(rate, 3) == pytest.approx(1 - gain, abs=0.08)
    assert np.median(rate) == pytest.approx(1.0, abs=0.03)
    middle = 1 + 0.6 * gain
    high = np.flatnonzero((rate[1:] > middle) & (rate[:-1] <= middle)) * 5e-3
    assert np.median(np.diff(high)) == pytest.approx(8 * 20e-3, rel=0.15)


def test_bbr_loses_less_at_the_start_if_a_loss_ends_its_start_up() -> None:
    dropped = []
    for heeds in (True, False):
        simulation = watched(Tcp(congestion=Congestion.BBR, bbr_heeds_loss=heeds), limit=60_000)
        simulation.run(1.0)
        dropped.append(int(simulation.flow_results().dropped[0]))
    assert dropped[0] < 0.7 * dropped[1]


@pytest.mark.parametrize("congestion", [Congestion.VEGAS, Congestion.COPA, Congestion.BBR])
def test_two_flows_share_a_link(congestion: Congestion) -> None:
    simulation = watched(Tcp(congestion=congestion), flows=2, limit=500_000)
    shares = goodput(simulation, 10.0, 40.0)
    assert shares.sum() == pytest.approx(1.0, rel=0.03)
    assert jain(shares) > 0.9
    require_conserved(simulation)


@pytest.mark.parametrize(
    ("congestion", "sack"),
    [
        (Congestion.VEGAS, True),
        (Congestion.VEGAS, False),
        (Congestion.COPA, True),
        (Congestion.COPA, False),
        (Congestion.BBR, True),
    ],
)
def test_flows_complete_in_spite_of_random_losses(congestion: Congestion, *, sack: bool) -> None:
    network = bottleneck(Fifo(limit=60_000), loss=0.01)
    tcp = Tcp(congestion=congestion, sack=sack, min_timeout=0.02)
    simulation = Simulation(network, [Flows.of(0, 1, tcp, size=5_000_000)])
    simulation.run(100.0)
    assert simulation.flow_results().goodput[0] == 5_000_000
    require_conserved(simulation)


def test_bbr_without_selective_acknowledgements_is_refused() -> None:
    network = bottleneck(Fifo(limit=60_000))
    with pytest.raises(UnsoundError, match="BBR needs sack"):
        Simulation(network, [Flows.of(0, 1, Tcp(congestion=Congestion.BBR, sack=False))])


@pytest.mark.parametrize("handshake", [True, False])
def test_bbr_begins_with_its_initial_window_at_startup_gain_over_the_round_trip(*, handshake: bool) -> None:
    """Section 4.2.1 of the draft: as soon as a round trip has been measured."""
    simulation = watched(Tcp(congestion=Congestion.BBR, handshake=handshake), delay=10e-3)
    simulation.run(39e-3)
    before = int(simulation.flow_results().sent[0])
    assert before == (0 if handshake else 10)
    simulation.run(50e-3)  # a quarter of a round trip later
    assert int(simulation.flow_results().sent[0]) - before == pytest.approx(2.89 * 10 / 4, abs=1.5)


def test_random_losses_slow_bbr_and_copa_less_than_reno() -> None:
    """BBR and Copa in its default mode do not take a loss for congestion."""
    rates = {}
    for congestion in (Congestion.NEW_RENO, Congestion.COPA, Congestion.BBR):
        network = bottleneck(Fifo(limit=300_000), delay=5e-3, loss=0.002)
        simulation = Simulation(network, [Flows.of(0, 1, Tcp(congestion=congestion))])
        rates[congestion] = float(goodput(simulation, 1.0, 9.0)[0])
    assert rates[Congestion.BBR] > 0.85
    assert rates[Congestion.COPA] > 2 * rates[Congestion.NEW_RENO]


def test_paced_segments_of_a_window_do_not_queue() -> None:
    peaks = {}
    for paced in (False, True):
        tcp = Tcp(paced=paced, receive_window=60, initial_window=60, handshake=True, nic_packets=0)
        simulation = watched(tcp, rate=100.0, delay=5e-3)
        simulation.run(0.1)
        peaks[paced] = int(simulation.link_results().queued_peak[bottleneck_link(simulation.network)]) // SEGMENT
    assert peaks[False] > 40
    assert peaks[True] <= 3
