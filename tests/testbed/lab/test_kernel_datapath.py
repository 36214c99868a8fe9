"""A plan's tables on Open vSwitch's datapath in the kernel: labels, queues and failover of real packets."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from kuijia_app.framework import event_log
from te_solver.model.plan import Plan
from testbed.controllers.application_process import Event
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.links.label_observer import EgressFlowKey, IngressMark
from testbed.machine.ovs import Datapath
from testbed.traffic.hash_probe import probe_marks_seen_by
from testbed.traffic.iperf import IperfFlow, IperfRun
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.plans import motivation_plan

pytestmark = pytest.mark.kernel

CAPACITY = 10.0
FLOWS = tuple(EgressFlowKey("tcp", "10.0.1.1", port, 5201) for port in range(10000, 10120))
T1, T2, T3 = 16, 17, 18
PINGS = 5
SENDING_SECONDS = 20
ATTEMPTS = 3


@pytest.fixture(scope="module")
def plan() -> Plan:
    plan = motivation_plan().with_rates_times(CAPACITY / 200)
    return replace(plan, topology=plan.topology.with_capacity(CAPACITY))


@pytest.fixture(scope="module")
def lab(plan: Plan) -> Iterator[Lab]:
    with Lab(plan, LabOptions(), lambda _: None) as lab:
        yield lab


def marks(lab: Lab) -> dict[EgressFlowKey, IngressMark]:
    source, target = lab.network.host("s1"), lab.network.host("s4")
    return probe_marks_seen_by(lambda: lab.network.observe("s1"), source, str(target.address), FLOWS)


def sent(lab: Lab) -> Counter[str]:
    """Return the packets that s1 has sent to other switches, by queue."""
    queues = [queue for queue in lab.status()["queues"] if queue["switch"] == "s1"]
    return sum((Counter({queue["queue"]: queue["sent_packets"]}) for queue in queues), Counter())


def problems_so_far(lab: Lab) -> list[Event]:
    return [event for event in lab.controller.events() if event["event"] == event_log.PROBLEM_FOUND]


def test_switches_forward_in_the_kernel(lab: Lab) -> None:
    assert lab.emulated_network.datapath is Datapath.KERNEL
    ping = ["ping", "-c", str(PINGS), "-i", "0.2", str(lab.emulated_network.host("s4").address)]
    assert f"{PINGS} received" in lab.emulated_network.host("s1").run(ping).stdout
    entries = lab.emulated_network.ovs.appctl("dpctl/dump-flows", "system@ovs-system").splitlines()
    assert any("push_mpls(" in entry and "set(skb_priority(0x10002))" in entry for entry in entries)
    assert any("pop_mpls(" in entry for entry in entries)


def test_every_link_carries_its_capacity_in_strict_order(lab: Lab) -> None:
    for link in lab.calibrate():
        assert link.fault(tolerance=0.05) is None


def test_a_flow_has_the_same_tunnel_at_every_attempt_and_tunnels_have_their_shares(lab: Lab) -> None:
    first = marks(lab)
    assert marks(lab) == first
    share = {label: count / len(FLOWS) for label, count in Counter(mark.label for mark in first.values()).items()}
    assert share == pytest.approx({T1: 0.5, T2: 0.3, T3: 0.2}, abs=0.2)
    assert {mark.traffic_class for mark in first.values()} == {0}


def test_a_connection_fills_the_queues_of_switches_until_they_drop(lab: Lab) -> None:
    flow = IperfFlow("f", "s1", "s4", 20001, 5201, congestion_control="cubic")
    with IperfRun(lab.network, [flow], SENDING_SECONDS):
        deadline = time.monotonic() + SENDING_SECONDS
        while not any(queue["dropped_packets"] for queue in lab.status()["queues"] if queue["switch"] == "s1"):
            assert time.monotonic() < deadline


@dataclass(frozen=True)
class Cut:
    """The marks of flows before and in a failure, packets sent meanwhile, and problems that the controller found."""

    before: dict[EgressFlowKey, IngressMark]
    after: dict[EgressFlowKey, IngressMark]
    counted: Counter[str]
    problems: list[Event]


def cut(lab: Lab, link: tuple[str, str]) -> Cut:
    before = marks(lab)
    known = len(problems_so_far(lab))
    lab.fail(*link)
    try:
        counted = sent(lab)
        after = marks(lab)
        return Cut(before, after, sent(lab) - counted, problems_so_far(lab)[known:])
    finally:
        lab.heal(*link)


@pytest.mark.parametrize(("link", "broken"), [(("s1", "s4"), T2), (("s2", "s4"), T1)], ids=["local", "remote"])
def test_victims_alone_change_their_tunnel_and_their_queue(lab: Lab, link: tuple[str, str], broken: int) -> None:
    seen = cut(lab, link)
    for _ in range(ATTEMPTS - 1):
        if not seen.problems:
            break
        # A guest whose processor is busy loses probes, and the controller then avoids links that live.
        wait_until(lambda: not lab.controller.problems(), "the controller finds no problem")
        seen = cut(lab, link)
    victims = {flow for flow, mark in seen.before.items() if mark.label == broken}
    others = seen.before.keys() - victims
    assert victims
    assert others
    assert {flow: seen.after[flow] for flow in others} == {flow: seen.before[flow] for flow in others}, seen.problems
    assert {seen.after[flow].traffic_class for flow in victims} == {1}
    assert broken not in {seen.after[flow].label for flow in victims}
    # Probes lost on the way back are sent again.
    assert len(victims) <= seen.counted["victim"] < 2 * len(victims) + 5
    assert len(others) <= seen.counted["normal"] < 2 * len(others) + 5
    assert marks(lab) == seen.before
