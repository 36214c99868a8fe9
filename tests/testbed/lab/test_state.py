"""What a lab's state lists as a fault."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kuijia_app.tables.bfd import BfdSessions
from testbed.lab.lab_options import LabOptions
from testbed.lab.state import CONTROLLER_DIED, dead_tunnels, observed
from testbed.network.bfd import EndState
from tests.kuijia_app.plans import motivation_plan

PLAN = motivation_plan()


class Network:
    """One in which everything works."""

    def links_up(self, edges: list[tuple[str, str]]) -> dict[tuple[str, str], bool]:
        return dict.fromkeys(edges, True)

    def dead_switches(self) -> frozenset[str]:
        return frozenset()


def lab_with(controller: object) -> Any:  # noqa: ANN401  # the parts that are looked at
    return SimpleNamespace(plan=PLAN, options=LabOptions(), network=Network(), controller=controller)


@pytest.mark.parametrize(("alive", "faults"), [(True, []), (False, [CONTROLLER_DIED])])
def test_the_death_of_the_only_controller_is_a_fault(*, alive: bool, faults: list[str]) -> None:
    controller = SimpleNamespace(is_alive=alive, problems=list, unfit_switches=set, tunnels_told_dead=set)
    assert observed(lab_with(controller), with_queues=False)[2] == faults


@pytest.mark.parametrize(("alive", "dead"), [(True, {17}), (False, set())])
def test_a_tunnel_that_a_living_controller_avoids_is_dead_though_its_session_is_up(
    *, alive: bool, dead: set[int]
) -> None:
    controller = SimpleNamespace(is_alive=alive, unfit_switches=set, tunnels_told_dead=lambda: {17})
    lab = SimpleNamespace(options=LabOptions(liveness="bfd"), controller=controller)
    links_up = dict.fromkeys(map(frozenset, PLAN.topology.edges), True)
    end = EndState(up=True, state="up", diagnostic="")
    sessions = {session: {session.nodes[0]: end, session.nodes[-1]: end} for session in BfdSessions(PLAN)}
    assert dead_tunnels(lab, PLAN, links_up, frozenset(), sessions) == dead
