"""Values of options are taken whole or refused with what was expected."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from kuijia_base.option_values import (
    different_ones,
    positive_count,
    positive_number,
    positive_number_within,
    whole_number,
)


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), ("0.5", 0.5), ("1e3", 1000.0)])
def test_a_positive_number_is_taken(text: str, value: float) -> None:
    assert positive_number(text) == value


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "1_000", "\u0661", "fast"])
def test_what_is_no_positive_number_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="expected a finite number greater than zero"):
        positive_number(text)


def test_bounds_are_part_of_what_is_taken() -> None:
    within = positive_number_within(0.5, 2.0, "0.5 to 2")
    assert [within("0.5"), within("2")] == [0.5, 2.0]
    with pytest.raises(ArgumentTypeError, match=r"'2\.1', expected 0\.5 to 2"):
        within("2.1")


def test_whole_numbers_have_bounds_or_go_on() -> None:
    assert [whole_number(2, 4)("4"), positive_count("7")] == [4, 7]
    with pytest.raises(ArgumentTypeError, match="'5' rows, expected a whole number from 2 to 4"):
        whole_number(2, 4, of=" rows")("5")
    with pytest.raises(ArgumentTypeError, match="'0', expected a whole number from 1 to 1000000"):
        positive_count("0")


@pytest.mark.parametrize("text", ["b,b", "c", "", "a,"])
def test_only_different_known_ones_are_taken(text: str) -> None:
    known = different_ones(("a", "b"))
    assert known("b,a") == ("b", "a")
    with pytest.raises(ArgumentTypeError, match="expected different ones among a, b"):
        known(text)
