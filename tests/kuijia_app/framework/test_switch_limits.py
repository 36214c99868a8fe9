"""When a switch that owes answers is given up, and how often the same trouble is reported."""

from __future__ import annotations

from itertools import pairwise

from kuijia_app.framework.switch_limits import ANSWER_WITHIN, FIRST_PAUSE, LONGEST_PAUSE, READ_WITHIN, BackOff, Patience

LOOK = 0.05


def lost_after(patience: Patience, seconds: float, answers_every: float | None, *, is_reading: bool) -> float | None:
    """Seconds after which patience is lost, looking every 50 ms for so many seconds."""
    for number in range(round(seconds / LOOK)):
        now = number * LOOK
        progress = 0 if answers_every is None else int(now / answers_every)
        if patience.lost(now, progress, is_owed=True, is_reading=is_reading) is not None:
            return now
    return None


def test_a_switch_that_owes_an_answer_is_given_up_after_its_time() -> None:
    lost = lost_after(Patience(), 2 * ANSWER_WITHIN, None, is_reading=False)
    assert lost is not None
    assert abs(lost - ANSWER_WITHIN) <= 2 * LOOK


def test_a_switch_that_goes_on_answering_is_waited_for() -> None:
    assert lost_after(Patience(), 10 * ANSWER_WITHIN, ANSWER_WITHIN / 2, is_reading=False) is None


def test_a_description_without_an_end_is_given_up_although_parts_come() -> None:
    lost = lost_after(Patience(), 2 * READ_WITHIN, ANSWER_WITHIN / 2, is_reading=True)
    assert lost is not None
    assert abs(lost - READ_WITHIN) <= 2 * LOOK


def test_a_switch_that_owes_nothing_is_never_given_up() -> None:
    patience = Patience()
    assert all(patience.lost(float(now), 0, is_owed=False, is_reading=False) is None for now in range(100))


def test_a_time_in_which_nobody_looked_is_not_counted() -> None:
    patience = Patience()
    assert patience.lost(0.0, 0, is_owed=True, is_reading=True) is None
    assert patience.lost(1000.0, 0, is_owed=True, is_reading=True) is None
    assert patience.lost(1000.0 + LOOK, 0, is_owed=True, is_reading=True) is None


def test_a_trouble_that_goes_on_is_reported_ever_more_seldom_and_nothing_is_left_out_of_the_count() -> None:
    back_off = BackOff()
    reports = [(now, told) for now in range(100_000) if (told := back_off.occurred("s1", float(now))) is not None]
    times = [now for now, _ in reports]
    pauses = [after - before for before, after in pairwise(times)]
    assert times[0] == 0
    assert pauses[0] == FIRST_PAUSE
    assert pauses == sorted(pauses)
    assert max(pauses) == LONGEST_PAUSE
    assert sum(told for _, told in reports) == times[-1] + 1


def test_a_trouble_that_comes_back_later_is_reported_at_once() -> None:
    back_off = BackOff()
    assert [back_off.occurred("s1", now) for now in (0.0, 1.0, 2.0)] == [1, None, None]
    assert back_off.occurred("s1", 1000.0) == 3


def test_troubles_of_different_switches_are_reported_each() -> None:
    back_off = BackOff()
    assert [back_off.occurred(name, 0.0) for name in ("s1", "s2", "s1")] == [1, 1, None]


def test_ever_new_troubles_are_not_remembered_for_ever() -> None:
    back_off = BackOff()
    for name in range(10_000):
        back_off.occurred(name, 0.0)
    assert len(back_off._troubles) == BackOff._MOST
