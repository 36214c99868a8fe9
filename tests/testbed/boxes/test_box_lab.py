"""A whole lab on real boxes: connected by TLS, calibrated over SSH, its tunnels watched by BFD."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kuijia.cli.main import main
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.plan import Plan
from te_solver.networks import shipped_demands, shipped_network
from te_solver.solve import solve
from testbed.boxes.inventory import read_inventory
from testbed.boxes.network import BoxGround
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.lab.lab_requests import FlowWish
from testbed.links.label_observer import EgressFlowKey, IngressMark
from testbed.traffic.hash_probe import probe_marks_seen_by
from tests.kuijia_app.dummy_switches import wait_until
from tests.testbed.boxes.rig import CONTROLLER_WITH_TLS, Rig, needs_sshd, rig

pytestmark = [pytest.mark.emulation, needs_sshd]

CAPACITY = 20.0
FLOWS = tuple(EgressFlowKey("tcp", "10.0.1.1", port, 9) for port in range(21000, 21040))
NORMAL, LOW = 0, 1


@pytest.fixture(scope="module")
def plan() -> Plan:
    topology = load_topology(shipped_network("fig1")).with_capacity(CAPACITY)
    return solve(topology, load_demands(shipped_demands("fig1"), topology))


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory, plan: Plan) -> Iterator[Rig]:
    with rig(tmp_path_factory.mktemp("rig"), plan.topology, ["s1", "s4"]) as made:
        yield made


@pytest.fixture(scope="module")
def lab(boxes: Rig, plan: Plan) -> Iterator[Lab]:
    ground = BoxGround(read_inventory(boxes.edit(controller=CONTROLLER_WITH_TLS)))
    with Lab(plan, LabOptions(liveness="bfd"), lambda _: None, ground) as lab:
        yield lab
    assert boxes.records() == ""
    assert "kuijia-b" not in boxes.boxes["s1"].run("ip", "link", "show")


def marks(lab: Lab) -> dict[EgressFlowKey, IngressMark]:
    """Return the marks that s1 puts on each flow to s4."""
    network = lab.network
    return probe_marks_seen_by(
        lambda: network.observe("s1"), network.host("s1"), str(network.host("s4").address), FLOWS
    )


def test_switches_connect_by_tls(lab: Lab, boxes: Rig) -> None:
    assert lab.controller.programmed_switches() == ["s1", "s2", "s3", "s4"]
    assert boxes.boxes["s1"].run("ovs-vsctl", "get-controller", "kuijia") == "ssl:192.0.2.1:6653\n"


def test_links_between_boxes_carry_their_capacity_in_strict_order(lab: Lab, plan: Plan) -> None:
    found = lab.calibrate()
    assert [(link.source, link.target) for link in found] == [link.ends for link in plan.topology.links]
    assert all(link.fault(tolerance=0.05) is None for link in found)


def test_counters_flows_and_nodes_are_those_of_any_lab(lab: Lab) -> None:
    counted = lab.counters()
    assert counted["faults"] == []
    assert len(counted["queues"]) == 10 * len(lab.network.layout.queues)
    flow = lab.flows.start(FlowWish("s1", "s4", "udp", 2.0, 100))

    def arrives() -> bool:
        lab.flows.measure()
        return (flow.goodput or 0.0) > 1.5

    wait_until(arrives, "the flow arrives")
    lab.flows.watch_marks(5.0)
    assert flow.mark is not None
    queues = [each for each in lab.counters()["queues"] if (each["switch"], each["queue"]) == ("s1", "normal")]
    assert sum(each["sent_bytes"] for each in queues) > 100_000
    lab.flows.stop(flow.name)
    assert lab.fail_node("s3").links == (("s3", "s1"), ("s3", "s4"))
    assert [tunnel["nodes"] for tunnel in lab.status()["tunnels"] if not tunnel["alive"]] == [["s1", "s3", "s4"]]
    lab.heal_node("s3")
    assert lab.counters()["tunnels_dead"] == []


def test_a_remote_failure_is_noticed_by_the_boxes_themselves(lab: Lab, plan: Plan) -> None:
    failing = next(tunnel.path_id for tunnel in plan.tunnels if tunnel.nodes == ("s1", "s2", "s4"))
    lab.kill_controller()
    before = marks(lab)
    victims = {flow for flow, mark in before.items() if mark.label == failing}
    assert victims
    lab.fail("s2", "s4")

    def moved() -> bool:
        after = marks(lab)
        return all(
            mark.label != failing and mark.traffic_class == LOW if flow in victims else mark == before[flow]
            for flow, mark in after.items()
        )

    wait_until(moved, "the victims move, and nobody else")
    down = {session.path_id for session, ends in lab.network.bfd.states().items() if not ends["s1"].up}
    assert down == {failing}
    lab.heal("s2", "s4")
    wait_until(lambda: marks(lab) == before, "the flows are back")


def test_swapped_cables_are_found_before_anything_is_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    star = tmp_path / "star.yaml"
    star.write_text("nodes: [a, b, c]\nlinks: [{a: a, b: b, capacity: 20}, {a: a, b: c, capacity: 20}]\n")
    with rig(tmp_path, load_topology(star), ["a"], swapped=["b", "c"]) as boxes:
        boxes.wake()
        assert main(["boxes", "check", str(boxes.inventory), str(star)]) == 1
        said = capsys.readouterr().out
        assert "switch a to-b receives from switch c to-a instead of switch b to-a" in said
        assert "switch a to-host" not in said
        assert main(["boxes", "up", str(boxes.inventory), str(star)]) == 1
        assert boxes.records() == ""
        assert boxes.boxes["a"].run("ovs-vsctl", "list-br") == ""
