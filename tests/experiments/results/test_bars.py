"""Orders of two numbers know the published ones, and when either may be first."""

from __future__ import annotations

import pytest

from experiments.results.exhibit import Point
from experiments.results.score import slower

FAST = Point("5-10 %", 0.903, 0.889, 0.936, 5, 0.954)
SLOW = Point("1-10 %", 0.891, 0.876, 0.909, 5, 0.963)
"""Figure 14 of FlashPass: published .9 % apart, in the other order here, where seeds lie 3 % around their ratio."""


def test_numbers_nearer_to_each_other_than_seeds_differ_are_a_tie() -> None:
    (check,) = slower("1-10 % / 5-10 %", SLOW, FAST, relative=True)
    assert check.measured == pytest.approx(0.891 / 0.903)
    assert check.published == pytest.approx(0.963 / 0.954)
    assert check.spread == pytest.approx(0.0316, abs=2e-4)
    assert check.is_tie
    assert check.passed


def test_numbers_of_one_seed_or_without_a_common_base_are_no_tie() -> None:
    one, other = (Point(each.x, each.value, each.value, each.value, 1, each.published) for each in (SLOW, FAST))
    for (check,) in (slower("a", one, other, relative=True), slower("a", SLOW, FAST)):
        assert not check.is_tie
        assert not check.passed


def test_an_order_without_a_number_of_ours_is_no_bar() -> None:
    assert slower("a", Point("x", published=1.0), FAST) == []
    assert slower("a", SLOW, Point("x", published=1.0)) == []


def test_an_order_that_the_published_numbers_do_not_have_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="misses its own bar"):
        slower("5-10 % / 1-10 %", FAST, SLOW)
