"""What a lab's state lists as a fault."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from testbed.lab.lab_options import LabOptions
from testbed.lab.state import CONTROLLER_DIED, observed
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
