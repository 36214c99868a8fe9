"""Several failures at a time on Google's network, on real switches: who moves, who stays, and what is left of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from kuijia_app.control.liveness import LivenessTracker
from kuijia_app.tables.routes import RoutedPair, directions
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network
from testbed.controllers.application_process import Framework
from testbed.controllers.controller_process import ControllerProcess
from tests.kuijia_app.dummy_switches import DummySwitches, SentPacket, wait_until
from tests.kuijia_app.plans import plan_of
from tests.kuijia_app.test_controller import controller, told

pytestmark = [pytest.mark.ovs, pytest.mark.slow]

FLOWS = range(20000, 20050)
ROUNDS = 3

Edge = tuple[str, str]


@pytest.fixture
def switches(tmp_path: Path) -> Iterator[DummySwitches]:
    """Two pairs that are each other's way back, tunnels that share their first or last link, and a single tunnel."""
    plan = plan_of(
        load_topology(shipped_network("gscale")),
        "1-4-7-9-11 1-6-8-10-11 1-2-3-5-4-8-10-11",
        "11-9-7-4-5-3 11-9-7-6-5-3 11-10-8-4-1-2-3",
        "3-5-4-1-2 3-2 3-5-6-1-2",
        "2-1-4-5-3 2-3",
        "9-7",
    )
    with DummySwitches(plan, tmp_path) as running:
        yield running


@pytest.mark.parametrize("framework", ["os-ken", "ryu"])
def test_only_victims_move_and_healing_in_any_order_restores_every_table(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    random = Random(5)
    hops = {(min(hop), max(hop)) for tunnel in switches.plan.tunnels for hop in tunnel.hops}
    edges = sorted(hops - {("7", "9")})
    nodes = switches.plan.topology.nodes
    with controller(switches, tmp_path, framework) as process:
        tables = {node: (switches.groups(node), switches.flows(node)) for node in nodes}
        before = {direction: sent(switches, direction) for direction in directions(switches.plan)}
        tracker = LivenessTracker(switches.plan)
        for _ in range(ROUNDS):
            failing = random.sample(edges, 4)
            for edge in failing:
                switch_link(switches, process, tracker, edge, "down")
            for direction, packets in before.items():
                check_moves(switches, direction, packets, failing)
            for edge in random.sample(failing, len(failing)):
                switch_link(switches, process, tracker, edge, "up")
            # Pairs that had no tunnel are taken off their paths late.
            wait_until(
                lambda: {node: (switches.groups(node), switches.flows(node)) for node in nodes} == tables,
                "every table is as it was",
            )


def sent(switches: DummySwitches, direction: RoutedPair) -> list[SentPacket]:
    return switches.send_from_host(direction.ingress, direction.egress, FLOWS)


def switch_link(
    switches: DummySwitches, process: ControllerProcess, tracker: LivenessTracker, edge: Edge, state: str
) -> None:
    """Switch both ends and wait until the controller has told every ingress concerned."""
    for switch, other in (edge, edge[::-1]):
        port = switches.wiring.port(switch, other)
        switches.set_port(switch, port, state)
        for change in tracker.port_changed(switch, port, live=state == "up"):
            assert told(process, change.ingress, change.path_id, alive=change.alive)


def check_moves(switches: DummySwitches, direction: RoutedPair, before: list[SentPacket], failed: list[Edge]) -> None:
    """Every flow of a live tunnel is where it was, every other one on another live tunnel with the victims' class."""
    down = set(map(frozenset, failed))
    alive = {route.path_id for route in direction.routes if down.isdisjoint(map(frozenset, pairwise(route.nodes)))}
    if not alive:
        return
    for old, new in zip(before, sent(switches, direction), strict=True):
        if old.label in alive:
            assert new == old
        else:
            assert new.label in alive
            assert new.traffic_class == 1
