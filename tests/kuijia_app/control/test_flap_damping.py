"""A port that flaps is held down until it calms down; one that fails now and then is not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.control.flap_damping import CEILING, HALF_LIFE, REUSE, FlapDamping, Lasting

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
    assert damping.released(LONGEST - 0.2) == []
    assert damping.released(LONGEST) == [PORT]
    assert not damping.is_held(PORT)
    assert damping.released(LONGEST) == []
    assert CEILING / 2 ** (LONGEST / HALF_LIFE) < REUSE


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


def test_lasting_is_what_is_so_at_every_look() -> None:
    lasting: Lasting[str] = Lasting(1.0)
    assert lasting.observed(frozenset("ab"), 0.0) == frozenset()
    assert lasting.observed(frozenset("a"), 0.9) == frozenset()
    assert lasting.observed(frozenset("ab"), 1.0) == {"a"}
    assert lasting.observed(frozenset("ab"), 2.0) == {"a", "b"}


def test_a_held_port_is_let_up_as_its_switch_describes_it_last() -> None:
    damping: FlapDamping[tuple[str, int]] = FlapDamping()
    flap(damping, 30, 0.0)
    assert not damping.described(PORT, live=True)
    assert not damping.described(PORT, live=False)
    assert damping.released(60.0) == []
    assert damping.described(PORT, live=True)
