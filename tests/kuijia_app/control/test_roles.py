"""A controller claims above what switches have seen, and a switch must have the ports of the plan."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.control.roles import UNDEFINED, Claims, first_generation, is_later, misfit
from kuijia_app.tables.wiring import Wiring
from tests.kuijia_app.plans import motivation_plan

WIRING = Wiring(motivation_plan().topology)


def test_a_controller_claims_above_what_a_switch_has_seen() -> None:
    claims = Claims(instance=7)
    assert claims.met("s1", None)
    assert claims.generation == first_generation(1, 7)
    assert claims.met("s2", first_generation(41, 9))
    assert claims.generation == first_generation(42, 7)
    assert claims.met("s1", first_generation(1, 7))
    assert claims.generation == first_generation(42, 7)


def test_ids_by_the_clock_of_earlier_versions_are_below_all_others() -> None:
    claims = Claims(instance=7)
    assert claims.met("s1", 1_795_463_969_000)
    assert claims.generation == first_generation(1, 7)


def test_a_switch_that_has_met_a_later_controller_since_is_no_longer_ours() -> None:
    claims = Claims(instance=7)
    assert claims.met("s1", None)
    assert not claims.met("s1", first_generation(2, 9))


def test_an_earlier_process_with_the_same_number_is_another_controller() -> None:
    claims = Claims(instance=7)
    assert claims.met("s1", first_generation(1, 7))
    assert claims.generation == first_generation(2, 7)
    assert claims.met("s1", first_generation(2, 7))
    assert claims.generation == first_generation(2, 7)


@given(st.integers(0, UNDEFINED), st.integers(0, 0xFFFF))
def test_the_switch_accepts_the_next_id_whatever_it_has_seen(seen: int, instance: int) -> None:
    claims = Claims(instance)
    claims.met("s1", seen)
    assert not is_later(seen, claims.generation)
    assert 0 <= claims.generation < UNDEFINED


def test_a_switch_may_have_more_ports_than_the_plan_uses() -> None:
    assert misfit(WIRING, "s2", range(1, 49), is_ours=False) is None


def test_a_switch_that_lacks_ports_is_another_one() -> None:
    assert misfit(WIRING, "s1", [1, 2, 0xFFFFFFFE], is_ours=False) == (
        "has no port 3, 4: the plan expects ports 1 to 4, to s2, s3, s4 and the site's host"
    )


def test_a_switch_of_ours_that_lacks_a_port_has_lost_it() -> None:
    assert misfit(WIRING, "s1", [1, 2, 4], is_ours=True) is None
