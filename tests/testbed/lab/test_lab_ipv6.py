"""Hosts with an address of IPv6 and a default route, in a lab with both families: pings, errors and a failed link."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

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
FAR = "2001:db8:0:4::1"


@pytest.fixture(scope="module", params=["os-ken", "ryu"])
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    plan = motivation_plan()
    wiring = tmp_path_factory.mktemp("lab") / "wiring.yaml"
    wiring.write_text(wiring_text(dual_stack(plan.topology, gateways=True)))
    with Lab(plan, LabOptions(wiring=str(wiring), framework=request.param), lambda _: None) as running:
        yield running


def ping(lab: Lab, target: str, *options: str) -> str:
    return lab.emulated_network.host("s1").run(["ping", "-c", "1", "-W", "2", *options, target]).stdout


def test_the_first_ping_of_either_family_is_answered_within_a_second(lab: Lab) -> None:
    for target in (FAR, str(lab.emulated_network.host("s4").address)):
        began = time.monotonic()
        answer = ping(lab, target)
        assert " 1 received" in answer
        assert "ttl=63" in answer
        assert time.monotonic() - began < 1.0


def test_what_cannot_be_delivered_is_answered_as_a_router_answers(lab: Lab) -> None:
    assert " 1 received" in ping(lab, "2001:db8:0:1::fe")
    assert " 1 received" in ping(lab, f"{LINK_LOCAL_GATEWAY}%{lab.emulated_network.host('s1').interface}")
    assert "No route" in ping(lab, "2001:db8:ffff::1")
    assert "Time exceeded: Hop limit" in ping(lab, FAR, "-t", "1")


def test_a_failed_link_costs_few_packets_of_ipv6(lab: Lab) -> None:
    wait_until(lambda: " 1 received" in ping(lab, FAR), "it is answered")
    steady = lab.emulated_network.host("s1").launch(["ping", "-i", "0.005", "-c", "400", FAR])
    lab.fail("s1", "s4")
    steady.wait(PATIENCE)
    lab.heal("s1", "s4")
    received = re.search(r"(\d+) received", steady.output())
    assert received is not None
    assert int(received[1]) >= 360, steady.output()[-300:]
