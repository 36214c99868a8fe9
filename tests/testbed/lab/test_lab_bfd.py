"""A lab whose tunnels are watched by BFD survives failures beyond the first link without a controller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from kuijia_base.commands import run_command
from kuijia_base.errors import InputError
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.plan import Plan, Tunnel
from te_solver.networks import shipped_demands, shipped_network
from te_solver.solve import solve
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.links.label_observer import EgressFlowKey, IngressMark
from tests.kuijia_app.dummy_switches import wait_until
from tests.testbed.emulated import probe_marks

pytestmark = pytest.mark.emulation

CAPACITY = 20.0
FLOWS = tuple(EgressFlowKey("tcp", "10.0.1.1", port, 9) for port in range(21000, 21040))
NORMAL, LOW = 0, 1


@pytest.fixture(scope="module")
def plan() -> Plan:
    topology = load_topology(shipped_network("fig1"))
    demands = load_demands(shipped_demands("fig1"), topology)
    return solve(topology.with_capacity(CAPACITY), demands)


@pytest.fixture(scope="module")
def lab(plan: Plan) -> Iterator[Lab]:
    """Run a lab without a controller from the start."""
    with Lab(plan, LabOptions(liveness="bfd"), lambda _: None) as lab:
        lab.kill_controller()
        yield lab


def tunnel(plan: Plan, *nodes: str) -> Tunnel:
    return next(each for each in plan.tunnels if each.nodes == nodes)


def marks(lab: Lab) -> dict[EgressFlowKey, IngressMark]:
    """Return the marks that s1 puts on each flow to s4."""
    interfaces = [lab.emulated_network.interface("s1", port) for port in (1, 2, 3)]
    return probe_marks(lab.emulated_network.host("s1"), str(lab.emulated_network.host("s4").address), interfaces, FLOWS)


def moved_from(path_id: int, before: dict[EgressFlowKey, IngressMark], after: dict[EgressFlowKey, IngressMark]) -> bool:
    """Return True if the flows of one tunnel, and no others, moved to other tunnels and are tagged low."""
    victims = {flow for flow, mark in before.items() if mark.label == path_id}
    assert victims
    return all(
        mark.label != path_id and mark.traffic_class == LOW if flow in victims else mark == before[flow]
        for flow, mark in after.items()
    )


def sessions_down(lab: Lab) -> list[int]:
    return [each["path_id"] for each in lab.status()["sessions"] if not all(end["up"] for end in each["ends"])]


def test_a_remote_failure_moves_the_traffic_of_its_tunnel_alone_and_healing_moves_it_back(lab: Lab, plan: Plan) -> None:
    failing = tunnel(plan, "s1", "s2", "s4")
    before = marks(lab)
    assert {mark.traffic_class for mark in before.values()} == {NORMAL}
    lab.fail("s2", "s4")
    try:
        wait_until(lambda: moved_from(failing.path_id, before, marks(lab)), "the flows move")
        assert sessions_down(lab) == [failing.path_id]
    finally:
        lab.heal("s2", "s4")
    wait_until(lambda: marks(lab) == before, "the flows are back")
    assert sessions_down(lab) == []


def test_the_far_end_moves_its_answers_as_well(lab: Lab) -> None:
    ping = ["ping", "-c", "3", "-i", "0.2", "-W", "5", str(lab.emulated_network.host("s4").address)]
    lab.fail("s1", "s2")
    try:
        assert " 3 received" in lab.emulated_network.host("s1").run(ping).stdout
    finally:
        lab.heal("s1", "s2")


@pytest.mark.parametrize("death", ["down", "deleted"])
def test_a_tunnel_whose_bfd_port_dies_is_taken_for_dead(lab: Lab, plan: Plan, death: str) -> None:
    failing = tunnel(plan, "s1", "s3", "s4")
    (session,) = (each for each in lab.emulated_network.bfd.states() if each.path_id == failing.path_id)
    before = marks(lab)
    port = f"s1-b{session.path_id}"
    run_command(["ip", "link", "set", port, "down"] if death == "down" else ["ip", "link", "delete", port])
    wait_until(lambda: moved_from(failing.path_id, before, marks(lab)), "the flows move")
    # The port's own state reaches the groups before the session has missed its packets.
    wait_until(lambda: sessions_down(lab) == [failing.path_id], "the session is down")
    dead = [tunnel["path_id"] for tunnel in lab.status()["tunnels"] if not tunnel["alive"]]
    assert dead == [failing.path_id]
    if death == "down":
        run_command(["ip", "link", "set", port, "up"])
    else:
        lab.emulated_network.bfd.remove([session])
        lab.emulated_network.bfd.add([session], lab.options.bfd_interval_ms)
    lab.emulated_network.bfd.wait_until([session], up=True)
    wait_until(lambda: marks(lab) == before, "the flows are back")


def test_an_interval_that_cannot_be_had_is_refused_before_anything_is_built(plan: Plan) -> None:
    said: list[str] = []
    with pytest.raises(InputError, match=r"^testbed:BFD interval: 0 ms is out of bounds, expected 1 to 10000 ms$"):
        Lab(plan, LabOptions(liveness="bfd", bfd_interval_ms=0), said.append).start()
    assert said == []


def test_an_update_brings_sessions_of_its_own_and_takes_those_it_does_without_away(plan: Plan) -> None:
    (pair,) = plan.pairs
    two = replace(pair, tunnels=tuple(replace(each, weight=0.5) for each in pair.tunnels[:2]))
    with Lab(plan, LabOptions(liveness="bfd", bfd_interval_ms=100), lambda _: None) as lab:
        paths = sessions_over(lab)
        lab.update(replace(plan, pairs=(two,)))
        assert sessions_over(lab) == {path for path in paths if path in {each.nodes for each in two.tunnels}}
        lab.update(plan)
        assert sessions_over(lab) == paths
        lab.emulated_network.bfd.wait_until(lab.emulated_network.bfd.states(), up=True)
        lab.fail("s3", "s4")
        lab.heal("s3", "s4")


def sessions_over(lab: Lab) -> set[tuple[str, ...]]:
    return {session.nodes for session in lab.emulated_network.bfd.states()}
