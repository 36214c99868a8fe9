"""TCP over one bottleneck compared with the RFCs and known laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, Threshold, TokenBucket
from simulator.packet.scenario import Outage, Setting
from simulator.packet.simulation import Simulation
from simulator.packet.transports import Congestion, Tcp
from tests.simulator.packet.scenes import bottleneck, bottleneck_link, require_conserved

SEGMENT = 1500
SHARE = 1460 / SEGMENT
"""Share of a link's rate that is payload."""
ROUND_TRIP = 4e-3
"""Round-trip propagation delay in seconds over the dumbbell of `bottleneck`, without transmission times."""
FILLING = (Congestion.NEW_RENO, Congestion.CUBIC, Congestion.DCTCP)
"""Congestion controls that grow until the buffer overflows or marks."""


@pytest.mark.parametrize("congestion", FILLING)
@pytest.mark.parametrize("sack", [True, False])
def test_one_flow_fills_a_link_with_a_buffer_of_a_round_trip(congestion: Congestion, *, sack: bool) -> None:
    network = bottleneck(Fifo(limit=50_000, marking=Threshold(20_000)))
    simulation = Simulation(network, [Flows.of(0, 1, Tcp(congestion=congestion, sack=sack))])
    simulation.run(1.0)
    begun = simulation.flow_results().goodput
    simulation.run(4.0)
    goodput = (simulation.flow_results().goodput - begun) * 8 / 3.0 / 1e6
    assert goodput == pytest.approx(100.0 * SHARE, rel=0.01)
    require_conserved(simulation)


def test_slow_start_doubles_the_window_every_round_trip() -> None:
    network = bottleneck(Fifo(), rate=1e5)
    segments = np.array([10, 30, 70, 150])
    flows = Flows.of(np.zeros(4, int), 1, Tcp(initial_window=10), size=segments * 1460, start=np.arange(4.0))
    simulation = Simulation(network, [flows])
    simulation.run()
    round_trips = simulation.flow_results().completion / ROUND_TRIP
    assert round_trips == pytest.approx([0.5, 1.5, 2.5, 3.5], abs=0.05)


def test_a_handshake_takes_a_round_trip() -> None:
    network = bottleneck(Fifo())
    plain, opened = Tcp(), Tcp(handshake=True)
    first = Simulation(network, [Flows.of(0, 1, plain, size=1000)])
    second = Simulation(network, [Flows.of(0, 1, opened, size=1000)])
    first.run()
    second.run()
    difference = second.flow_results().finished - first.flow_results().finished
    assert difference == pytest.approx(ROUND_TRIP, rel=0.01)


def test_the_timer_of_a_handshake_is_not_that_of_data() -> None:
    """The first SYN is lost, and comes again after a second; the data after it is lost, and comes again after .2 s."""
    network = bottleneck(Fifo())
    link = bottleneck_link(network)
    outages = [Outage(link, 0.0, heals=0.5), Outage(link, 1.0045, heals=1.1)]
    simulation = Simulation(network, [Flows.of(0, 1, Tcp(handshake=True), size=1000)], Setting(outages=outages))
    simulation.run()
    assert simulation.flow_results().finished == pytest.approx([1.206], abs=0.002)


def test_delayed_acknowledgements_halve_their_number() -> None:
    network = bottleneck(Fifo())
    counts = []
    for every in (1, 2):
        simulation = Simulation(network, [Flows.of(0, 1, Tcp(ack_every=every), size=1460 * 1000)])
        simulation.run()
        counts.append(simulation.totals().arrived - simulation.totals().data_arrived)
    assert counts == [1000, 500]


def test_a_segment_that_no_other_follows_is_acknowledged_after_the_delay() -> None:
    network = bottleneck(Fifo(), rate=1e5)
    transport = Tcp(initial_window=1, ack_every=2, ack_delay=0.01)
    simulation = Simulation(network, [Flows.of(0, 1, transport, size=2 * 1460)])
    simulation.run()
    assert simulation.flow_results().completion == pytest.approx(1.5 * ROUND_TRIP + 0.01, rel=0.01)


@pytest.mark.parametrize("sack", [True, False])
def test_losses_are_repaired_without_timeouts_and_nothing_else_is_sent_again(*, sack: bool) -> None:
    network = bottleneck(Fifo(), loss=0.001)
    transport = Tcp(congestion=Congestion.NEW_RENO, sack=sack, receive_window=60)
    simulation = Simulation(network, [Flows.of(0, 1, transport, size=20_000_000)])
    simulation.run()
    results = simulation.flow_results()
    assert results.dropped > 5
    assert results.timeouts == 0
    assert results.retransmitted == results.dropped


def test_a_tail_that_is_lost_is_repaired_by_a_timeout() -> None:
    network = bottleneck(Fifo(limit=3_000))
    simulation = Simulation(network, [Flows.of(0, 1, Tcp(min_timeout=0.05), size=10 * 1460)])
    simulation.run()
    results = simulation.flow_results()
    assert results.timeouts >= 1
    assert results.goodput == 10 * 1460
    assert results.completion > 0.05


def test_a_card_that_shapes_holds_few_packets_of_a_flow() -> None:
    """Nothing in the network limits the window; all of it would wait for tokens, and retransmissions behind it."""
    network = Network()
    source, target = network.add_host(), network.add_host()
    card = network.connect((source, target), 1000.0, 1e-4, queueing=Fifo(shaping=TokenBucket(10.0, 150_000)))
    network.connect((target, source), 1000.0, 1e-4)
    simulation = Simulation(network, [Flows.of(source, target, Tcp(nic_packets=4))])
    simulation.run(3.0)
    links, begun = simulation.link_results(), simulation.flow_results().goodput[0]
    assert links.queued_peak[card] <= 4 * 1500
    simulation.run(5.0)
    assert (simulation.flow_results().goodput[0] - begun) * 8e-6 / 2 == pytest.approx(10 * 1460 / 1500, rel=0.002)


@pytest.mark.parametrize("congestion", [Congestion.NEW_RENO, Congestion.CUBIC])
@pytest.mark.parametrize("paced", [False, True])
def test_a_slow_start_that_grows_from_half_a_window_doubles_behind_a_card_of_few_packets(
    congestion: Congestion, *, paced: bool
) -> None:
    """The validated phase of RFC 7661: a window half in use may grow. A full card or a pace keeps it below that."""
    network = Network()
    source, target = network.add_host(), network.add_host()
    for ends in ((source, target), (target, source)):
        network.connect(ends, 10_000.0, 0.02)
    windows = {}
    for part in (1.0, 0.5):
        tcp = Tcp(congestion, nic_packets=8, paced=paced, handshake=True, grows_from=part)
        simulation = Simulation(network, [Flows.of(source, target, tcp)])
        simulation.run(8.5 * 0.04)  # the handshake, then seven round trips
        windows[part] = float(simulation.flow_states().window[0])
    assert windows[0.5] >= 10 * 2**6
    assert windows[1.0] < 0.5 * windows[0.5]


def test_timeouts_double_up_to_the_most() -> None:
    """RFC 6298 section 5: into a link that has failed a segment is sent after 0, 1, 3, 7 and 11 seconds."""
    network = bottleneck(Fifo())
    setting = Setting(outages=[Outage(bottleneck_link(network), fails=0.0)])
    flows = Flows.of(0, 1, Tcp(first_timeout=1.0, max_timeout=4.0), size=1000)
    simulation = Simulation(network, [flows], setting)
    sent = []
    for until in (0.99, 1.01, 2.99, 3.01, 6.99, 7.01, 10.99, 11.01):
        simulation.run(until)
        sent.append(int(simulation.flow_results().sent[0]))
    assert sent == [1, 2, 2, 3, 3, 4, 4, 5]


@pytest.mark.parametrize("sack", [True, False])
def test_reno_halves_the_segments_in_flight_without_those_of_limited_transmit(*, sack: bool) -> None:
    """RFC 5681 equation 4 and section 3.2 step 2; the initial window makes all windows fractions of a segment."""
    transport = Tcp(congestion=Congestion.NEW_RENO, sack=sack, initial_window=10.4)
    simulation = Simulation(bottleneck(Fifo(limit=45_000)), [Flows.of(0, 1, transport)])
    before = 0.0
    halved: list[tuple[float, float]] = []
    while simulation.now < 1.0:
        simulation.run(simulation.now + 1e-4)
        window = float(simulation.flow_states().window[0])
        if simulation.flow_results().recoveries[0] > len(halved):
            halved.append((window, np.floor(before) / 2))
        before = window
    assert len(halved) >= 4
    assert [window for window, _ in halved] == [half for _, half in halved]


@pytest.mark.parametrize(("loss", "tolerance"), [(0.002, 0.03), (0.01, 0.14)])
def test_reno_keeps_to_the_square_root_law(loss: float, tolerance: float) -> None:
    """Mathis et al., 1997: with an acknowledgement for every segment, sqrt(3 / 2 p) segments per round trip.

    Over twelve seeds the rate is 1.2 % below the law at the lower loss (standard deviation 0.6 %), 12.4 % at the higher
    one (0.4 %): the law halves windows of real numbers, TCP the whole segments in flight.
    """
    network = bottleneck(Fifo(), rate=10_000.0, delay=10e-3, loss=loss)
    transport = Tcp(congestion=Congestion.NEW_RENO, counting_limit=1)
    simulation = Simulation(network, [Flows.of(0, 1, transport)])
    simulation.run(400.0)
    results = simulation.flow_results()
    rate = float(results.goodput[0]) / 1460 / 400.0
    losses = float(results.recoveries[0]) / float(results.sent[0])  # several losses of a window count once
    assert rate == pytest.approx(np.sqrt(1.5 / losses) / 40e-3, rel=tolerance)


@pytest.mark.parametrize(
    ("keeps", "fast_convergence", "tolerance"), [(0.7, False, 0.05), (0.7, True, 0.15), (0.8, False, 0.05)]
)
def test_cubic_keeps_to_its_own_law(*, keeps: float, fast_convergence: bool, tolerance: float) -> None:
    """RFC 9438 figure 5: (C (3 + b) / 4 (1 - b))^1/4 RTT^3/4 / p^3/4 segments, of losses at equal distances.

    A drop-tail queue makes such losses. The law knows nothing of fast convergence, which costs a single flow something.
    """
    network = bottleneck(Fifo(limit=60_000), rate=500.0, delay=25e-3)
    transport = Tcp(counting_limit=1, cubic_keeps=keeps, cubic_fast_convergence=fast_convergence)
    simulation = Simulation(network, [Flows.of(0, 1, transport)])
    simulation.run(40.0)
    before = simulation.flow_results()
    simulation.run(160.0)
    after = simulation.flow_results()
    loss = float(after.recoveries[0] - before.recoveries[0]) / float(after.sent[0] - before.sent[0])
    window = float(after.goodput[0] - before.goodput[0]) / 1460 / 120.0 * 100e-3
    constant = (0.4 * (3 + keeps) / (4 * (1 - keeps))) ** 0.25
    assert window == pytest.approx(constant * (100e-3 / loss) ** 0.75, rel=tolerance)


@pytest.mark.parametrize("flows", [1, 2, 8])
def test_dctcp_keeps_its_queue_where_its_analysis_says(flows: int) -> None:
    """Alizadeh et al., SIGCOMM 2010, section 3.3: N flows of window W* peak N above the threshold K.

    The amplitude is sqrt(N (C RTT + K) / 2), in packets.
    """
    threshold = 40
    network = bottleneck(
        Fifo(limit=10**7, marking=Threshold(threshold * SEGMENT)), pairs=flows, rate=1000.0, delay=1e-4
    )
    link = bottleneck_link(network)
    hosts = np.arange(flows)
    setting = Setting(probed=[link], probe_every=1e-5)
    simulation = Simulation(network, [Flows.of(hosts, hosts + flows, Tcp(congestion=Congestion.DCTCP))], setting)
    simulation.run(0.5)
    times, queued = simulation.probes()
    packets = queued[times > 0.2, 0] / SEGMENT
    in_pipe = 1000e6 * 4e-4 / 8 / SEGMENT
    amplitude = np.sqrt(flows * (in_pipe + threshold) / 2)
    assert packets.max() == pytest.approx(threshold + flows, abs=0.25 * amplitude + 3)
    assert packets.mean() == pytest.approx(threshold + flows - amplitude / 2, rel=0.25)
    assert simulation.flow_results().dropped.sum() == 0


def test_marks_leave_dctcp_the_least_window_and_the_timer_sends_when_they_leave_less_than_a_segment() -> None:
    network = bottleneck(Fifo(marking=Threshold(0)), pairs=8, delay=1e-4)
    hosts = np.arange(8)
    for least in (2, 0):
        transport = Tcp(congestion=Congestion.DCTCP, dctcp_least_window=least, min_timeout=0.05)
        simulation = Simulation(network, [Flows.of(hosts, hosts + 8, transport)])
        windows = []
        for step in range(1, 101):
            simulation.run(step * 1e-2)
            windows.append(simulation.flow_states().window)
        results = simulation.flow_results()
        assert results.dropped.sum() == 0
        assert bool((np.array(windows) >= 2).all()) == (least == 2)
        assert bool((results.timeouts > 0).any()) == (least == 0)
        assert (results.goodput > 20 * 1460).all()


def test_flows_of_equal_round_trips_share_a_link() -> None:
    network = bottleneck(Fifo(limit=60_000, marking=Threshold(15_000)), pairs=4)
    hosts = np.arange(4)
    for congestion in FILLING:
        simulation = Simulation(network, [Flows.of(hosts, hosts + 4, Tcp(congestion=congestion))])
        simulation.run(20.0)
        goodput = simulation.flow_results().goodput.astype(float)
        assert goodput.sum() ** 2 / (4 * (goodput**2).sum()) > 0.95  # Jain's index


def test_a_receive_window_limits_the_rate() -> None:
    simulation = Simulation(bottleneck(Fifo(), rate=1e4), [Flows.of(0, 1, replace(Tcp(), receive_window=10))])
    simulation.run(1.0)
    rate = float(simulation.flow_results().goodput[0])
    assert rate == pytest.approx(10 * 1460 / ROUND_TRIP, rel=0.02)
    assert simulation.flow_states().window[0] < 30
