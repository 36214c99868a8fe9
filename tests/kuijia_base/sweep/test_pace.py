"""The pace of a sweep: the start of workers does not count, and cases that end together show no pace."""

from __future__ import annotations

import pytest

from kuijia_base.sweep.sweep import Pace, duration


def test_the_start_of_the_workers_is_not_counted() -> None:
    pace = Pace(101)
    assert pace.left(1, 60.0) is None
    assert pace.left(11, 65.0) == pytest.approx(45.0)


def test_cases_that_two_workers_finish_at_once_tell_no_pace() -> None:
    pace = Pace(20)
    assert [pace.left(1, 30.0), pace.left(2, 30.1)] == [None, None]
    assert pace.left(3, 60.0) == pytest.approx(15 * 17)


def test_cases_of_an_earlier_run_do_not_count() -> None:
    pace = Pace(100)
    assert pace.left(51, 4.0) is None
    assert pace.left(61, 14.0) == pytest.approx(39.0)


@pytest.mark.parametrize(("seconds", "text"), [(4.4, "4 s"), (61, "1 min 1 s"), (7384, "2 h 3 min")])
def test_times_are_told_in_the_units_of_their_size(seconds: float, text: str) -> None:
    assert duration(seconds) == text
