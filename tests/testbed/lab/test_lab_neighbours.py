"""Hosts with only an address and a default route, in a lab: the first ping is answered, and so is what fails."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from kuijia_app.framework import event_log
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network
from testbed.controllers.application_process import Framework
from testbed.controllers.controller_set import ControllerSet
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.plans import motivation_plan
from tests.rehearsal.cuts import plan_of_all_pairs

pytestmark = pytest.mark.emulation

PATIENCE = 20.0
LEARNED = "cookie=0x4b55494a4e440000/-1"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(motivation_plan(), LabOptions(neighbours="learned", other_traffic="forward"), lambda _: None) as running:
        yield running


def ping(lab: Lab, source: str, target: str, *options: str) -> str:
    words = ["ping", "-c", "1", "-W", "2", *options, target]
    return lab.emulated_network.host(source).run(words).stdout


def address(lab: Lab, site: str) -> str:
    return str(lab.emulated_network.host(site).address)


def test_the_first_ping_is_answered_within_a_second_also_where_the_switch_has_lost_its_hosts(lab: Lab) -> None:
    assert not lab.emulated_network.host("s1").run(["ip", "neighbour"]).stdout
    for _ in range(2):
        began = time.monotonic()
        answer = ping(lab, "s1", address(lab, "s4"))
        assert " 1 received" in answer
        assert "ttl=63" in answer
        assert time.monotonic() - began < 1.0
        lab.emulated_network.ovs.ofctl("del-flows", "s4", "cookie=0x4b55494a4e440000/-1,table=3,ip,nw_dst=10.0.4.1")


def test_what_cannot_be_delivered_is_answered_as_a_router_answers(lab: Lab) -> None:
    assert " 1 received" in ping(lab, "s1", "10.0.1.254")
    assert " 1 received" in ping(lab, "s1", "10.0.3.254"), "of another site"
    assert "Net Unreachable" in ping(lab, "s1", "192.0.2.1")
    assert "Time to live exceeded" in ping(lab, "s1", address(lab, "s4"), "-t", "1")


@pytest.mark.parametrize(
    "words",
    [
        ("del-meters", "s4"),
        ("del-flows", "s4", f"{LEARNED},table=3,ip,nw_dst=10.0.4.1"),
        ("mod-flows", "s4", f"{LEARNED},table=3,ip,nw_dst=10.0.4.1,actions=drop"),
        ("mod-meter", "s4", "meter={meter},pktps,burst,band=type=drop,rate=1,burst_size=1"),
    ],
)
def test_entries_and_meters_for_hosts_that_somebody_deletes_or_changes_come_back_and_that_is_logged(
    lab: Lab, words: tuple[str, ...]
) -> None:
    assert " 1 received" in ping(lab, "s1", address(lab, "s4"))

    def repairs() -> int:
        return len([event for event in lab.controller.events() if event["event"] == event_log.HOSTS_WRONG])

    def entries() -> list[str]:
        dumps = ("dump-flows", "s4", LEARNED, "--no-stats"), ("dump-meters", "s4")
        return sorted(line for dump in dumps for line in lab.emulated_network.ovs.ofctl(*dump).splitlines())

    wait_until(lambda: any("nw_dst=10.0.4.1 " in entry for entry in entries()), "the host is known")
    before, rightly = repairs(), entries()
    (meter, *_) = re.findall(r"^meter=(\d+)", "\n".join(rightly), re.MULTILINE)
    lab.emulated_network.ovs.ofctl(*(word.format(meter=meter) for word in words))
    assert entries() != rightly
    wait_until(lambda: entries() == rightly, "they are back")
    wait_until(lambda: repairs() > before, "it is logged")


def test_learned_hosts_are_nobody_elses_entries_and_are_delivered_to_past_a_cut(lab: Lab) -> None:
    assert " 1 received" in ping(lab, "s1", address(lab, "s4"))
    lab.fail("s1", "s4")
    wait_until(lambda: " 1 received" in ping(lab, "s1", address(lab, "s4")), "it arrives over other links")
    lab.heal("s1", "s4")
    assert not [fault for fault in lab.status()["faults"] if re.search("foreign|tables", str(fault))]


@pytest.mark.parametrize("framework", ["os-ken", "ryu"])
@pytest.mark.parametrize("network", ["fig1", "gscale"])
def test_every_site_has_its_first_ping_answered_within_a_second(network: str, framework: Framework) -> None:
    options = LabOptions(neighbours="learned", framework=framework)
    with Lab(plan_of_all_pairs(load_topology(shipped_network(network)), 3), options, lambda _: None) as lab:
        sites = lab.plan.topology.nodes
        half = len(sites) // 2
        for site, other in zip(sites, sites[half:] + sites[:half], strict=True):
            began = time.monotonic()
            assert " 1 received" in ping(lab, site, address(lab, other)), site
            assert time.monotonic() - began < 1.0, site


@pytest.mark.beside
def test_hosts_are_reached_while_controllers_change_without_one_and_after_a_restart() -> None:
    options = LabOptions(neighbours="learned", other_traffic="forward", controllers=2)
    with Lab(motivation_plan(), options, lambda _: None) as lab:
        controllers = lab.controller
        assert isinstance(controllers, ControllerSet)
        far = address(lab, "s4")
        assert " 1 received" in ping(lab, "s1", far)

        steady = lab.emulated_network.host("s1").launch(["ping", "-i", "0.02", "-c", "100", far])
        lab.kill_controller()
        controllers.wait_until_ready(lab.plan.topology.nodes)
        assert steady.wait(PATIENCE) == 0
        assert " 0% packet loss" in steady.output()
        assert " 1 received" in ping(lab, "s2", address(lab, "s3")), "hosts that nobody knew yet"

        lab.kill_controller()
        assert " 1 received" in ping(lab, "s1", far), "known hosts, without any controller"
        lab.emulated_network.host("s3").run(["ip", "neighbour", "flush", "all"])
        assert " 0 received" in ping(lab, "s3", address(lab, "s1")), "nobody answers for its gateway"
        controllers.start()
        controllers.wait_until_ready(lab.plan.topology.nodes)
        assert " 1 received" in ping(lab, "s3", address(lab, "s1"))
        assert " 1 received" in ping(lab, "s1", far)
