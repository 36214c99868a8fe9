"""The later controller has the greater generation id, and a switch must have the ports of the plan."""

from __future__ import annotations

from kuijia_app.control.roles import generation, misfit
from kuijia_app.tables.wiring import Wiring
from tests.kuijia_app.plans import motivation_plan

WIRING = Wiring(motivation_plan().topology)


def test_of_two_controllers_the_later_has_the_greater_generation_id() -> None:
    assert generation(1_700_000_000.001) > generation(1_700_000_000.0)


def test_a_switch_may_have_more_ports_than_the_plan_uses() -> None:
    assert misfit(WIRING, "s2", range(1, 49), is_ours=False) is None


def test_a_switch_that_lacks_ports_is_another_one() -> None:
    assert misfit(WIRING, "s1", [1, 2, 0xFFFFFFFE], is_ours=False) == (
        "has no port 3, 4: the plan expects ports 1 to 4, to s2, s3, s4 and the site's host"
    )


def test_a_switch_of_ours_that_lacks_a_port_has_lost_it() -> None:
    assert misfit(WIRING, "s1", [1, 2, 4], is_ours=True) is None
