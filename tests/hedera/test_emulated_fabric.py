"""Real packets through the emulated fat-tree: reachability, speed, and harmless failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise

import pytest

from experiments.hedera.lab import HederaLab, hedera_lab
from hedera.scheduling import events
from kuijia_app.framework import event_log
from testbed.controllers.application_process import LISTEN_PORT, Event
from testbed.lab.cuts import fail_link, heal_link
from testbed.network.bridges import NetworkOptions
from testbed.traffic.iperf import IperfFlow, IperfRun
from testbed.traffic.ticks import TickFlow, TickRecord
from tests.hedera.muted_polls import MutedPolls

pytestmark = pytest.mark.emulation

NIC_RATE = 5.0
PLACED = 0.8 * NIC_RATE
"""Goodput that a flow alone on its path exceeds; two on one path have less on average."""

LONGEST_INTERRUPTION = 1.0
"""Seconds that the scheduler may take to route around a remote failure; it takes milliseconds on an idle machine."""

PATIENCE = 60.0
EDGE = "p0e0"
"""The switch of h0 and h1."""


@pytest.fixture(scope="module")
def lab() -> Iterator[HederaLab]:
    with hedera_lab(4, NIC_RATE, "simulated-annealing", 0.5, NetworkOptions(), lambda _: None) as running:
        yield running


@contextmanager
def elephants(lab: HederaLab, first_port: int) -> Iterator[IperfRun]:
    """TCP from the four hosts of pod 0 to those of pod 2, for as long as the block lasts, once each has a path."""
    flows = [
        IperfFlow(f"h{host}", f"h{host}", f"h{host + 8}", first_port + host, 5001, congestion_control="cubic")
        for host in range(4)
    ]
    with IperfRun(lab.network, flows, 60, 0.5) as run:
        with expecting(lab, lambda seen: _ends(seen, elephants=4), "four elephants"):
            pass
        yield run
    if lab.scheduler.is_alive:
        with expecting(lab, lambda seen: _ends(seen, elephants=0), "no elephants any more"):
            pass


def rounds(seen: list[Event]) -> list[Event]:
    return [event for event in seen if event["event"] == events.ROUND]


@contextmanager
def expecting(lab: HederaLab, condition: Callable[[list[Event]], bool], what: str) -> Iterator[None]:
    """Wait after the block for something in the scheduler's log since the block began."""
    known = len(lab.scheduler.events())
    yield
    met = lab.scheduler.wait_for(lambda seen: condition(seen[known:]), PATIENCE)
    assert met, f"not within {PATIENCE:g} s: {what}: {lab.scheduler.events()[-3:]}"


def wait_for_goodput(run: IperfRun, enough: Callable[[dict[str, float]], bool]) -> None:
    """Wait until the goodput of a second is enough."""
    seen = []
    deadline = time.monotonic() + PATIENCE
    run.live_goodput()
    while time.monotonic() < deadline:
        time.sleep(1.0)
        seen.append(run.live_goodput())
        if enough(seen[-1]):
            return
    raise AssertionError(f"in {PATIENCE:g} s: {seen}")


def all_placed(goodput: dict[str, float]) -> bool:
    return min(goodput.values()) > 0.7 * NIC_RATE and sum(goodput.values()) > 4 * PLACED


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
    # Data that a receiver delivers when a gap is filled may have arrived before.
    assert 0.8 * NIC_RATE < means["first"] + means["second"] < 1.1 * NIC_RATE


def test_a_remote_link_that_fails_is_routed_around_and_comes_back(lab: HederaLab) -> None:
    with ticks(lab, "h0", "h15", 21000) as steady:
        steady.start()
        for cable in (("c0", "p3a0"), ("c1", "p3a0"), ("c2", "p3a1"), ("c3", "p3a1")):  # the flow crosses one of them
            fail_link(lab.network, *cable)
            _wait_for_failed(lab, [sorted(cable)])
            heal_link(lab.network, *cable)
            _wait_for_failed(lab, [])
        record = steady.stop()
    assert record.arrivals
    assert longest_gap(record) < LONGEST_INTERRUPTION


def test_elephants_go_round_a_switch_that_fails_and_have_paths_of_their_own_when_it_is_back(lab: HederaLab) -> None:
    cables = [("p0a0", other) for other in lab.network.topology.neighbours["p0a0"]]
    with elephants(lab, 22000) as run:
        wait_for_goodput(run, all_placed)
        for cable in cables:
            fail_link(lab.network, *cable)
        # Two uplinks of the pod are left.
        wait_for_goodput(run, lambda now: min(now.values()) > 0 and sum(now.values()) > 2 * PLACED)
        for cable in cables:
            heal_link(lab.network, *cable)
        wait_for_goodput(run, all_placed)


def test_counters_that_jump_back_take_no_elephant_away_and_a_switch_that_restarts_gets_all_it_had(
    lab: HederaLab,
) -> None:
    ovs, bridge = lab.network.ovs, lab.network.bridge(EDGE)
    with elephants(lab, 23000) as run:
        wait_for_goodput(run, all_placed)
        known = len(lab.scheduler.events())
        with expecting(lab, lambda seen: len(rounds(seen)) >= 4, "four rounds"):
            ovs.ofctl("del-flows", bridge, "table=2")
        since = rounds(lab.scheduler.events()[known:])
        assert {each["elephants"] for each in since} == {4}
        assert sum(each["moved"] for each in since) == 0
        with expecting(lab, partial(_last_is, event_log.SWITCH_GONE), "the switch has gone"):
            ovs.vsctl("del-controller", bridge)
        ovs.ofctl("del-flows", bridge)
        ovs.ofctl("del-groups", bridge)
        with expecting(lab, partial(_last_is, event_log.SWITCH_READY), "the switch has its tables"):
            connect_to(lab, LISTEN_PORT)
        wait_for_goodput(run, all_placed)


def test_flows_of_a_switch_that_answers_no_polls_go_on_and_are_placed_again_when_it_does(lab: HederaLab) -> None:
    with MutedPolls(LISTEN_PORT) as polls:
        with expecting(lab, partial(_last_is, event_log.SWITCH_READY), "the switch is back"):
            connect_to(lab, polls.port)
        with elephants(lab, 24000) as run:
            with expecting(lab, lambda seen: _ends(seen, silent=[EDGE], elephants=2), "only the others are placed"):
                polls.muted = True
            run.live_goodput()
            address = str(lab.network.host("h8").address)
            assert lab.network.host("h0").run(["ping", "-c", "1", "-W", "2", address]).returncode == 0
            with expecting(lab, lambda seen: _ends(seen, silent=[], elephants=4), "all are placed again"):
                polls.muted = False
            assert min(run.live_goodput().values()) > 0
            wait_for_goodput(run, all_placed)
        with expecting(lab, partial(_last_is, event_log.SWITCH_READY), "the switch is back"):
            connect_to(lab, LISTEN_PORT)


def test_nothing_is_lost_when_the_scheduler_is_killed_with_flows_under_way_and_new_ones_are_connected(
    lab: HederaLab,
) -> None:
    """The last test of this lab: it ends the scheduler."""
    ping = ["ping", "-c", "3", "-i", "0.2", "-W", "2"]
    with elephants(lab, 25000) as run:
        wait_for_goodput(run, all_placed)
        # None of these shares a link with the elephants.
        with ticks(lab, "h4", "h12", 25100) as steady, ticks(lab, "h5", "h6", 25101) as in_pod:
            steady.start()
            in_pod.start()
            lab.scheduler.kill()
            run.live_goodput()
            for host in range(5, 8):
                answer = lab.network.host("h4").run([*ping, str(lab.network.host(f"h{host + 8}").address)])
                assert answer.returncode == 0, answer.stdout
            assert all_placed(run.live_goodput())
            assert [record.lost for record in (steady.stop(), in_pod.stop())] == [0, 0]
    flows = [IperfFlow(f"{h}", f"h{h}", f"h{15 - h}", 25200, 5002, congestion_control="cubic") for h in range(16)]
    with IperfRun(lab.network, flows, 60, 0.5) as run:
        assert len(run.live_goodput()) == len(flows)


def test_with_a_short_period_elephants_are_placed_about_as_soon() -> None:
    with hedera_lab(4, NIC_RATE, "simulated-annealing", 0.1, NetworkOptions(), lambda _: None) as fast:
        delays = []
        for attempt in range(3):
            first_port = 20000 + 100 * attempt
            with elephants(fast, first_port) as run:
                placed = next(
                    event["time"]
                    for event in rounds(fast.scheduler.events())
                    if event["time"] > run.connected_at and event["elephants"] == 4
                )
                delays.append(placed - run.connected_at)
        times = [event["time"] for event in rounds(fast.scheduler.events())]
    assert min(delays) < 0.7, delays
    assert sorted(after - before for before, after in pairwise(times))[len(times) // 2] < 0.2


def connect_to(lab: HederaLab, port: int) -> None:
    """Make the edge switch connect to the controller at a port of the loopback."""
    lab.network.ovs.vsctl("set-controller", lab.network.bridge(EDGE), f"tcp:127.0.0.1:{port}")


def _last_is(name: str, seen: list[Event]) -> bool:
    """Return True if this is the last event of the edge switch's connection."""
    states = (event_log.SWITCH_READY, event_log.SWITCH_GONE)
    told = [event["event"] for event in seen if event["event"] in states and event["switch"] == EDGE]
    return bool(told) and told[-1] == name


def _ends(seen: list[Event], **expected: object) -> bool:
    """Return True if the last round has this outcome."""
    found = rounds(seen)
    return bool(found) and all(found[-1][key] == value for key, value in expected.items())


def _wait_for_failed(lab: HederaLab, failed: list[list[str]]) -> None:
    def holds(seen: list[Event]) -> bool:
        changed = [event["failed"] for event in seen if event["event"] == events.ROUTES_CHANGED]
        return bool(changed) and changed[-1] == failed

    assert lab.scheduler.wait_for(holds, PATIENCE)
