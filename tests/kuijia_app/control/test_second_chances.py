"""A switch that has refused its tables is asked again, ever less often."""

from __future__ import annotations

from kuijia_app.control.second_chances import SecondChances

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0


def test_a_switch_is_asked_again_after_a_pause_and_only_once() -> None:
    chances = SecondChances()
    chances.refused("s", 0.0)
    assert chances.due(FIRST_PAUSE - 0.1) == []
    assert not chances.has_one("s")
    assert chances.due(FIRST_PAUSE) == ["s"]
    assert chances.has_one("s")
    assert chances.due(100.0) == []


def test_pauses_double_up_to_a_limit() -> None:
    chances, now, pauses = SecondChances(), 0.0, []
    for _ in range(10):
        chances.refused("s", now)
        began = now
        while not chances.due(now):
            now += 1.0
        pauses.append(now - began)
    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE


def test_a_switch_that_has_its_tables_begins_anew() -> None:
    chances = SecondChances()
    for now in (0.0, FIRST_PAUSE):
        chances.refused("s", now)
        chances.due(now + FIRST_PAUSE)
    chances.forget("s")
    assert chances.is_empty
    chances.refused("s", 100.0)
    assert chances.due(100.0 + FIRST_PAUSE) == ["s"]
