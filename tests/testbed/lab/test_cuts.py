"""Nodes are cut with all their links, and healed with those that their own failure has cut."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kuijia_app.framework import event_log
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import InputError
from testbed.lab.cuts import Cuts
from testbed.lab.lab_options import LabOptions
from tests.kuijia_app.plans import motivation_plan


class Ground:
    """A network of links that are up or down, and a controller that acknowledges as a real one does, or is dead."""

    def __init__(self, *, alive: bool) -> None:
        self.plan = motivation_plan()
        self.topology = self.plan.topology
        self.wiring = Wiring(self.topology)
        self.options = LabOptions()
        self.network = self
        self.controller: Any = SimpleNamespace(is_alive=alive, events=list, wait_for=self._wait_for)
        self.down: set[frozenset[str]] = set()
        self.switched: list[str] = []

    def is_up(self, a: str, b: str) -> bool:
        return frozenset((a, b)) not in self.down

    def switch_link(self, a: str, b: str, *, up: bool) -> tuple[float, dict[str, float]]:
        (self.down.discard if up else self.down.add)(frozenset((a, b)))
        self.switched.append(f"{a}-{b} {'up' if up else 'down'}")
        return 100.0, {a: 0.01, b: 0.02}

    def queue_counters(self, switch: str, port: int) -> None:
        pass

    def _wait_for(self, condition: Any, _: float) -> bool:  # noqa: ANN401  # a condition on events
        told = [
            {"event": event_log.TUNNEL_LIVENESS, "ingress": ingress, "path_id": path_id, "alive": alive, "time": 1e10}
            for ingress in ("s1", "s4")
            for path_id in (16, 17, 18)
            for alive in (True, False)
        ]
        return bool(condition(told))


def cuts(ground: Any) -> Cuts:  # noqa: ANN401  # as much of a lab as cuts need
    return Cuts(ground)


def test_a_node_is_cut_with_its_links_that_are_up_and_healed_with_these() -> None:
    ground = Ground(alive=False)
    lab = cuts(ground)
    lab.switch_link("s1", "s2", up=False)
    event = lab.fail_node("s1")
    assert (event.node, event.up, event.links) == ("s1", False, (("s1", "s3"), ("s1", "s4")))
    assert list(lab.nodes_down) == ["s1"]
    assert lab.heal_node("s1").links == event.links
    assert not list(lab.nodes_down)
    assert ground.down == {frozenset(("s1", "s2"))}
    assert lab.switched == 2 * len(ground.switched)


def test_a_link_between_two_nodes_that_are_down_is_healed_with_the_second() -> None:
    ground = Ground(alive=False)
    lab = cuts(ground)
    lab.fail_node("s1")
    lab.fail_node("s4")
    lab.heal_node("s1")
    assert ground.down == {frozenset(link) for link in (("s1", "s4"), ("s2", "s4"), ("s3", "s4"))}
    assert set(lab.heal_node("s4").links) == {("s4", "s2"), ("s4", "s3"), ("s4", "s1")}
    assert ground.down == set()


def test_the_controllers_reaction_to_all_links_of_a_node_is_one() -> None:
    event = cuts(Ground(alive=True)).fail_node("s2")
    assert (event.tunnels_told, event.reaction_seconds is not None) == (1, True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lab: lab.fail_node("s9"), "testbed:s9: there is no such node, expected one of s1, s2, s3, s4"),
        (lambda lab: lab.fail_node("s1"), "testbed:node s1: the node is down already"),
        (lambda lab: lab.heal_node("s2"), "testbed:node s2: the node is up"),
        (lambda lab: lab.switch_link("s2", "s1", up=True), "testbed:link s2-s1: node s1 is down, expected to heal s1"),
        (lambda lab: lab.switch_link("s1", "s2", up=False), "testbed:link s1-s2: the link is down already"),
    ],
)
def test_what_cannot_be_switched_is_refused_and_changes_nothing(change: Any, words: str) -> None:  # noqa: ANN401
    ground = Ground(alive=False)
    lab = cuts(ground)
    lab.fail_node("s1")
    before = list(ground.switched)
    with pytest.raises(InputError, match=f"^{words}"):
        change(lab)
    assert ground.switched == before
