"""Hosts with an address of each family and a default route, in labs with either tag: pings, errors, a failed link."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import pytest

from kuijia_app.tables.neighbours import LINK_LOCAL_GATEWAY
from kuijia_app.tables.wiring_file import wiring_text
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.plans import motivation_plan
from tests.kuijia_app.wirings import dual_stack

pytestmark = pytest.mark.emulation

PATIENCE = 20.0
PINGS, INTERVAL = 500, 0.002
ATTEMPTS = 3
"""How often a link is cut until the interruption is short: a busy machine makes some longer."""

FAR = "2001:db8:0:4::1"


@pytest.fixture(scope="module", params=[("os-ken", "mpls"), ("ryu", "vlan")], ids="-".join)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    plan = motivation_plan()
    wiring = tmp_path_factory.mktemp("lab") / "wiring.yaml"
    wiring.write_text(wiring_text(dual_stack(plan.topology, gateways=True)))
    framework, tagging = request.param
    options = LabOptions(wiring=str(wiring), framework=framework, tagging=tagging)
    with Lab(plan, options, lambda _: None) as running:
        yield running


def ping(lab: Lab, target: str, *options: str) -> str:
    return lab.emulated_network.host("s1").run(["ping", "-c", "1", "-W", "2", *options, target]).stdout


def is_answered(lab: Lab, target: str) -> bool:
    return " 1 received" in ping(lab, target)


def test_the_first_ping_of_either_family_is_answered_within_a_second(lab: Lab) -> None:
    for target in (FAR, str(lab.emulated_network.host("s4").address)):
        began = time.monotonic()
        answer = ping(lab, target)
        assert " 1 received" in answer
        assert "ttl=63" in answer
        assert time.monotonic() - began < 1.0


def test_what_cannot_be_delivered_is_answered_as_a_router_answers(lab: Lab) -> None:
    assert is_answered(lab, "2001:db8:0:1::fe")
    assert is_answered(lab, f"{LINK_LOCAL_GATEWAY}%{lab.emulated_network.host('s1').interface}")
    assert "No route" in ping(lab, "2001:db8:ffff::1")
    assert "Time exceeded: Hop limit" in ping(lab, FAR, "-t", "1")


def interruption(lab: Lab, target: str, neighbour: str) -> float:
    """Return the longest time in seconds without an answered ping while s1's link to a neighbour is cut and healed."""
    options = ["-i", str(INTERVAL), "-c", str(PINGS), "-W", "1"]
    steady = lab.emulated_network.host("s1").launch(["ping", *options, target])
    wait_until(lambda: f"icmp_seq={PINGS // 4} " in steady.output(), "some are answered")
    lab.fail("s1", neighbour)
    steady.wait(PATIENCE)
    lab.heal("s1", neighbour)
    answered = [int(number) for number in re.findall(r"icmp_seq=(\d+) ", steady.output())]
    assert answered[-1] > PINGS * 0.9, steady.output()[-300:]
    return INTERVAL * max(later - earlier for earlier, later in pairwise(answered))


def test_no_failed_link_of_its_switch_interrupts_a_host_for_more_than_20_ms(lab: Lab) -> None:
    for target in (FAR, str(lab.emulated_network.host("s4").address)):
        wait_until(partial(is_answered, lab, target), "it is answered")
        for neighbour in ("s2", "s3", "s4"):  # one of these carries the packets
            attempts = (interruption(lab, target, neighbour) for _ in range(ATTEMPTS))
            assert any(seconds <= 0.020 for seconds in attempts), neighbour
