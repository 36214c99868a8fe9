"""Links with the delays of a wide-area network: round trips, the effect of a cut, and TCP's recovery."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from experiments.recovery.report import longest_silence
from te_solver.model.plan import Plan
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.links.label_observer import EgressFlowKey, IngressMark
from testbed.traffic.iperf import IperfFlow, IperfRun
from testbed.traffic.ticks import TickFlow
from tests.kuijia_app.plans import motivation_plan

pytestmark = pytest.mark.kernel

CAPACITY = 10.0
DELAYS = {"s1-s2": 0.010, "s2-s4": 0.015, "s1-s4": 0.040, "s1-s3": 0.020, "s3-s4": 0.010}
T1, T2 = 16, 17
ROUND_TRIP = {T1: 0.050, T2: 0.080}
TICK_SECONDS = 0.005
SOURCE_PORT, TARGET_PORT = 20001, 5201
WARMUP, BEFORE, CONVERGENCE, AFTER = 3.0, 2.0, 5.0, 2.0


def delayed_plan() -> Plan:
    plan = motivation_plan((1.0, 0.0, 0.0)).with_rates_times(CAPACITY / 200)
    (pair,) = plan.pairs
    links = tuple(
        replace(link, capacity=CAPACITY, delay=DELAYS["-".join(sorted(link.ends))]) for link in plan.topology.links
    )
    return replace(plan, topology=replace(plan.topology, links=links), pairs=(replace(pair, tunnels=pair.tunnels[:2]),))


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Run a lab with all traffic between s1 and s4 on T1 = s1-s2-s4, and on T2 = s1-s4 when that fails."""
    with Lab(delayed_plan(), LabOptions(), lambda _: None) as lab:
        yield lab


def round_trip(lab: Lab) -> float:
    """Return the shortest of several round-trip times in seconds."""
    address = str(lab.emulated_network.host("s4").address)
    answer = lab.emulated_network.host("s1").run(["ping", "-c", "5", "-i", "0.2", address]).stdout
    found = re.search(r"= ([\d.]+)/", answer)
    assert found is not None, answer
    return float(found[1]) / 1000


def test_a_flow_recovers_from_a_remote_cut_after_the_time_the_news_take(lab: Lab) -> None:
    source, target = lab.emulated_network.host("s1"), lab.emulated_network.host("s4")
    key = EgressFlowKey("udp", str(source.address), SOURCE_PORT, TARGET_PORT)
    with TickFlow(source, target, str(source.address), SOURCE_PORT, TARGET_PORT, TICK_SECONDS) as flow:
        flow.start()
        with lab.network.observe("s1") as observer:
            assert observer.watch([key], 5)[key] == IngressMark(T1, 0)
        assert ROUND_TRIP[T1] <= round_trip(lab) < ROUND_TRIP[T1] + 0.02
        event = lab.fail("s2", "s4")
        try:
            cut_at = event.requested_at + time.monotonic() - time.time()
            with lab.network.observe("s1") as observer:
                assert observer.watch([key], 5, ignored={T1})[key] == IngressMark(T2, 1)
            after = round_trip(lab)
            end = time.monotonic()
            record = flow.stop()
        finally:
            lab.heal("s2", "s4")
    silence = longest_silence([at for _, at in record.arrivals], cut_at, end)
    # After the news, s1's packets take the longer way; those in flight to s2 are lost.
    longer_way = DELAYS["s1-s4"] - DELAYS["s1-s2"] - DELAYS["s2-s4"]
    assert longer_way < silence.length < 1.0
    assert ROUND_TRIP[T2] <= after < ROUND_TRIP[T2] + 0.02
    assert record.lost > 0


def test_tcp_fills_the_longer_tunnel_within_seconds_of_the_cut(lab: Lab) -> None:
    flow = IperfFlow("f", "s1", "s4", SOURCE_PORT, TARGET_PORT, congestion_control="cubic")
    with IperfRun(lab.network, [flow], round(WARMUP + BEFORE + CONVERGENCE + AFTER + 3), 0.2) as run:
        before_end = run.connected_at + WARMUP + BEFORE
        while time.time() < before_end:
            run.live_goodput()
            time.sleep(0.2)
        event = lab.fail("s2", "s4")
        try:
            goodput = run.finish()["f"]
        finally:
            lab.heal("s2", "s4")
    before = goodput.mean(before_end - BEFORE, before_end)
    cut = event.requested_at
    after = goodput.mean(cut + CONVERGENCE, cut + CONVERGENCE + AFTER)
    assert before > 0.7 * CAPACITY
    assert after > 0.8 * before
