"""Real packets through the emulated fat-tree: who reaches whom, how fast, and what a dead scheduler or link costs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from experiments.hedera.testbed_lab import HederaLab, hedera_lab
from hedera import events
from testbed.failures import fail_link, heal_link
from testbed.iperf import IperfFlow, IperfRun
from testbed.network import NetworkOptions
from testbed.ticks import TickFlow, TickRecord

pytestmark = pytest.mark.emulation

NIC_RATE = 5.0
LONGEST_INTERRUPTION = 1.0
"""Seconds that the scheduler may take to route around a remote failure; it takes milliseconds on an idle machine."""


@pytest.fixture(scope="module")
def lab() -> Iterator[HederaLab]:
    with hedera_lab(4, NIC_RATE, "simulated-annealing", 1.0, NetworkOptions(), lambda _: None) as running:
        yield running


def ticks(lab: HederaLab, source: str, target: str, port: int) -> TickFlow:
    sender, receiver = lab.network.host(source), lab.network.host(target)
    return TickFlow(sender, receiver, str(sender.address), port, 6000, 0.002)


def longest_gap(record: TickRecord) -> float:
    times = [at for _, at in record.arrivals]
    return max(after - before for before, after in pairwise(times))


@pytest.mark.parametrize("target", ["h1", "h2", "h15"])
def test_hosts_of_one_switch_of_one_pod_and_of_two_pods_reach_each_other(lab: HederaLab, target: str) -> None:
    address = str(lab.network.host(target).address)
    answer = lab.network.host("h0").run(["ping", "-c", "2", "-i", "0.2", "-W", "2", address])
    assert answer.returncode == 0, answer.stdout


def test_a_host_sends_and_receives_no_more_than_its_cable_carries(lab: HederaLab) -> None:
    flows = [
        IperfFlow("alone", "h4", "h11", 20000, 5001, congestion_control="cubic"),
        IperfFlow("first", "h0", "h15", 20000, 5001, congestion_control="cubic"),
        IperfFlow("second", "h8", "h15", 20001, 5002, congestion_control="cubic"),
    ]
    with IperfRun(lab.network, flows, 6, 0.5) as run:
        goodput = run.finish()
        begin = run.connected_at
    means = {name: each.mean(begin + 1.5, begin + 5.0) for name, each in goodput.items()}
    assert 0.8 * NIC_RATE < means["alone"] < 0.96 * NIC_RATE
    assert 0.8 * NIC_RATE < means["first"] + means["second"] < 0.98 * NIC_RATE


def test_a_remote_link_that_fails_is_routed_around_and_comes_back(lab: HederaLab) -> None:
    with ticks(lab, "h0", "h15", 21000) as steady:
        steady.start()
        for cable in (("c0", "p3a0"), ("c1", "p3a0"), ("c2", "p3a1"), ("c3", "p3a1")):  # it crosses one of them
            fail_link(lab.network, *cable)
            _wait_for_failed(lab, [sorted(cable)])
            heal_link(lab.network, *cable)
            _wait_for_failed(lab, [])
        record = steady.stop()
    assert record.arrivals
    assert longest_gap(record) < LONGEST_INTERRUPTION


def test_nothing_is_lost_when_the_scheduler_is_killed(lab: HederaLab) -> None:
    """The last test: it takes the scheduler of the lab away."""
    with ticks(lab, "h3", "h12", 22000) as steady, ticks(lab, "h5", "h6", 22001) as in_pod:
        steady.start()
        in_pod.start()
        lab.scheduler.kill()
        address = str(lab.network.host("h9").address)
        answer = lab.network.host("h0").run(["ping", "-c", "5", "-i", "0.2", "-W", "2", address])
        records = [steady.stop(), in_pod.stop()]
    assert answer.returncode == 0
    assert [record.lost for record in records] == [0, 0]


def _wait_for_failed(lab: HederaLab, failed: list[list[str]]) -> None:
    def holds(seen: list[dict[str, object]]) -> bool:
        changed = [event["failed"] for event in seen if event["event"] == events.ROUTES_CHANGED]
        return bool(changed) and changed[-1] == failed

    assert lab.scheduler.wait_for(holds, 10.0)
