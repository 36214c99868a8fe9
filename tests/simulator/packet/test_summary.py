"""Summaries count all events, in classes that omit no flow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.flow_sizes.published import published_flow_sizes
from simulator.packet.credited import FlashPass, Ports
from simulator.packet.flows import ENDLESS, Flows
from simulator.packet.network import Network
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.simulation import Simulation
from simulator.packet.summary import FlowTable, Spread, size_classes, summary_of
from simulator.packet.topologies import LeafSpine, single_switch
from simulator.packet.traffic.load import Load
from simulator.packet.traffic.workload import Workload
from simulator.packet.transports import Congestion, Tcp, Transport


def test_figures_are_those_of_the_flows_and_of_the_switches_queues() -> None:
    network = LeafSpine(2, 2, 4, 1000, 1000, 2e-6).network(Fifo(60_000, Threshold(15_000)))
    tcp = Tcp(congestion=Congestion.DCTCP, min_timeout=0.002)
    flows = Workload(published_flow_sizes("web-search"), Load(0.7), 150).drawn(network, tcp, seed=3)
    simulation = Simulation(network, [flows])
    assert simulation.run()
    table = FlowTable.of(simulation)
    summary = summary_of(simulation, size_classes([100_000, 1_000_000]), table)

    everything, *classes = summary.classes
    assert [each.name for each in classes] == ["under 100 kB", "100 kB to 1 MB", "1 MB and more"]
    assert everything.flows == everything.finished == sum(each.flows for each in classes) == 150
    small = flows.size < 100_000
    assert classes[0].flows == small.sum()
    assert classes[0].completion.mean == pytest.approx(table.completion[small].mean())
    assert classes[0].completion.p99 == pytest.approx(np.percentile(table.completion[small], 99))
    assert everything.slowdown.mean == pytest.approx((table.completion / table.ideal).mean())
    assert np.all(table.slowdown > 1 - 1e-6)
    assert everything.goodput.p50 == pytest.approx(np.median(flows.size * 8e-6 / table.completion))

    results, links = simulation.flow_results(), simulation.link_results()
    assert summary.seconds == simulation.now
    assert summary.goodput * results.finished.max() == pytest.approx(flows.size.sum() * 8e-6)
    assert (summary.sent, summary.dropped, summary.marked) == (
        results.sent.sum(),
        results.dropped.sum(),
        results.marked.sum(),
    )
    assert summary.marked
    assert summary.retransmitted == results.retransmitted.sum()
    of_switches = [place for place, link in enumerate(network.links) if link.source >= 8]
    assert summary.queues.peak == links.queued_peak[of_switches].max() <= 60_000
    assert 0 < summary.queues.mean < summary.queues.busiest_mean < summary.queues.peak


def test_what_has_not_come_to_its_end_counts_as_that() -> None:
    network = single_switch(3, 100, 1e-5, Fifo(100_000))
    flows = [Flows.of([0, 1], 2, Tcp(), size=[1000, 10**8])]
    simulation = Simulation(network, flows)
    assert simulation.run(until=0.1)
    table = FlowTable.of(simulation)
    everything, small, large = summary_of(simulation, size_classes([10_000]), table).classes
    assert (everything.flows, everything.finished) == (2, 1)
    assert (large.flows, large.finished, large.completion) == (1, 0, Spread(None, None, None, None, None))
    assert small.slowdown.mean == everything.slowdown.mean
    assert table.goodput[1] == 0


@pytest.mark.parametrize(
    ("transport", "network"),
    [
        (Tcp(min_timeout=3, first_timeout=3), single_switch(3, 100, 1e-3, Fifo(100_000))),
        (FlashPass(timeout=3), Ports().on(single_switch(3, 100, 1e-3, Fifo()))),
    ],
    ids=["tcp", "credits"],
)
def test_goodput_is_over_the_time_until_the_last_end_however_long_timers_run(
    transport: Transport, network: Network
) -> None:
    simulation = Simulation(network, [Flows.of([0, 1], 2, transport, size=50_000, start=[0, 0.01])])
    assert simulation.run()
    summary = summary_of(simulation, size_classes([]), FlowTable.of(simulation))
    ended = simulation.flow_results().finished.max()
    assert summary.seconds > 10 * ended
    assert summary.goodput == pytest.approx(100_000 * 8e-6 / ended)


def test_goodput_is_over_all_simulated_time_while_a_flow_goes_on() -> None:
    network = single_switch(3, 100, 1e-3, Fifo(100_000))
    simulation = Simulation(network, [Flows.of([0, 1], 2, Tcp(), size=[1000, ENDLESS])])
    assert simulation.run(until=0.5)
    summary = summary_of(simulation, size_classes([]), FlowTable.of(simulation))
    received = int(simulation.flow_results().goodput.sum())
    assert summary.goodput == pytest.approx(received * 8e-6 / 0.5)


def test_before_anything_has_happened_there_is_nothing() -> None:
    simulation = Simulation(single_switch(2, 100, 1e-5, Fifo()), [])
    summary = summary_of(simulation, size_classes([]), FlowTable.of(simulation))
    assert (summary.goodput, summary.queues.peak, len(summary.classes), summary.classes[0].flows) == (0, 0, 1, 0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=5, unique=True).map(sorted), st.integers(0, 10**10))
def test_each_size_is_in_one_class(bounds: list[int], size: int) -> None:
    everything, *classes = size_classes(bounds)
    assert everything.name == "all"
    assert sum(each.least <= size < each.below for each in classes) == 1
