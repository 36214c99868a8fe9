"""A port that flaps is held down until it calms down; one that fails now and then is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.control.flap_damping import FlapDamping, Lasting

CEILING, HALF_LIFE, REUSE = 6.0, 2.0, 1.5

PORT = ("s1", 2)
LONGEST = 4.1
"""Seconds that a port is held at most: from the ceiling to the reuse limit takes two half-lives."""


def flap(damping: FlapDamping[tuple[str, int]], times: int, now: float) -> bool:
    live = True
    for _ in range(times):
        assert not damping.observed(PORT, now, live=False)
        live = damping.observed(PORT, now, live=True)
    return live


def test_a_port_that_fails_three_times_is_believed_at_once() -> None:
    assert flap(FlapDamping(), 3, 0.0)


def test_a_port_that_flaps_is_held_down_and_let_up_when_it_has_calmed_down() -> None:
    damping: FlapDamping[tuple[str, int]] = FlapDamping()
    assert not flap(damping, 30, 0.0)
    assert damping.is_held(PORT)
    assert damping.released(3.99) == []
    assert damping.released(4.0) == [PORT]
    assert not damping.is_held(PORT)
    assert damping.released(LONGEST) == []
    assert CEILING / 2 ** (4.0 / HALF_LIFE) == REUSE


@pytest.mark.parametrize(("now", "is_live"), [(3.99, False), (4.0, True)])
def test_a_port_that_is_up_again_once_it_has_calmed_down_is_believed(now: float, *, is_live: bool) -> None:
    damping: FlapDamping[tuple[str, int]] = FlapDamping()
    flap(damping, 30, 0.0)
    assert damping.observed(PORT, now, live=True) is is_live


def test_a_penalty_of_three_and_a_half_does_not_hold_a_port_yet() -> None:
    damping: FlapDamping[tuple[str, int]] = FlapDamping()
    assert flap(damping, 1, 0.0)
    assert flap(damping, 3, 2.0)  # the first counts for a half


def test_a_port_that_ends_down_is_not_let_up() -> None:
    damping: FlapDamping[tuple[str, int]] = FlapDamping()
    flap(damping, 10, 0.0)
    assert not damping.observed(PORT, 0.1, live=False)
    assert damping.released(100.0) == []
    assert damping.observed(PORT, 100.0, live=True)


def test_a_held_port_is_doubted_while_it_is_up() -> None:
    damping: FlapDamping[tuple[str, int]] = FlapDamping()
    flap(damping, 10, 0.0)
    assert damping.doubted() == {PORT}
    damping.observed(PORT, 0.1, live=False)
    assert damping.doubted() == frozenset()
    damping.observed(PORT, 0.2, live=True)
    assert damping.doubted() == {PORT}
    damping.released(0.2 + LONGEST)
    assert damping.doubted() == frozenset()


def test_failures_far_apart_add_up_to_nothing() -> None:
    damping: FlapDamping[tuple[str, int]] = FlapDamping()
    for second in range(0, 100, 5):
        assert not damping.observed(PORT, second, live=False)
        assert damping.observed(PORT, second + 1, live=True)


@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.booleans()), min_size=1))
def test_what_is_believed_in_the_end_is_what_the_port_says_and_down_is_believed_at_once(
    said: list[tuple[float, bool]],
) -> None:
    damping: FlapDamping[tuple[str, int]] = FlapDamping()
    now, believed = 0.0, True
    for wait, live in said:
        now += wait
        if damping.released(now):
            believed = True
        believed = damping.observed(PORT, now, live=live)
        assert live or not believed
    if damping.released(now + LONGEST):
        believed = True
    assert believed == said[-1][1]


def test_a_held_port_is_let_up_as_its_switch_describes_it_last() -> None:
    damping: FlapDamping[tuple[str, int]] = FlapDamping()
    flap(damping, 30, 0.0)
    assert not damping.described(PORT, live=True)
    assert not damping.described(PORT, live=False)
    assert damping.released(60.0) == []
    assert damping.described(PORT, live=True)


def test_a_port_that_has_calmed_down_is_believed_the_next_time() -> None:
    damping: FlapDamping[tuple[str, int]] = FlapDamping()
    assert not flap(damping, 10, 0.0)
    assert not damping.observed(PORT, 10.0, live=False)
    assert not damping.is_held(PORT)
    assert damping.observed(PORT, 10.1, live=True)


def test_a_penalty_counts_falls_halves_every_two_seconds_and_holds_above_three_and_a_half() -> None:
    """Three falls at once make 3; at 1 s they are 2.12, and one more makes 3.12; at 1.1 s 3.01 and one more 4.01."""
    damping: FlapDamping[tuple[str, int]] = FlapDamping()
    assert flap(damping, 3, 0.0)
    assert flap(damping, 1, 1.0)
    assert not flap(damping, 1, 1.1)
    # 4.01 / 2 ** (t / 2) is 1.5 at t = 2.84.
    assert damping.released(1.1 + 2.83) == []
    assert damping.released(1.1 + 2.85) == [PORT]


def test_a_report_that_repeats_that_a_port_is_down_adds_nothing() -> None:
    damping: FlapDamping[tuple[str, int]] = FlapDamping()
    for _ in range(10):
        assert not damping.observed(PORT, 0.0, live=False)
    assert damping.observed(PORT, 0.0, live=True)


def test_a_condition_lasts_from_the_first_look_that_saw_it_until_one_does_not() -> None:
    lasting: Lasting[str] = Lasting(2.0)
    assert lasting.observed(frozenset("ab"), 10.0) == frozenset()
    assert lasting.observed(frozenset("a"), 11.9) == frozenset()
    assert lasting.observed(frozenset("ab"), 12.0) == {"a"}
    assert lasting.observed(frozenset("ab"), 13.9) == {"a"}
    assert lasting.observed(frozenset("ab"), 14.0) == {"a", "b"}


def test_a_description_holds_no_port_but_says_what_is_held() -> None:
    damping: FlapDamping[tuple[str, int]] = FlapDamping()
    assert damping.described(PORT, live=True)
    assert not damping.described(PORT, live=False)
    flap(damping, 10, 0.0)
    assert not damping.described(PORT, live=True)
    assert damping.doubted() == {PORT}
    assert not damping.described(PORT, live=False)
    assert damping.doubted() == frozenset()
