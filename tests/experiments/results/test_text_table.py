"""Columns of text tables are as wide as what stands in them."""

from __future__ import annotations

from experiments.results.text_table import aligned, text_table


def test_the_first_column_stands_left_and_others_right_as_wide_as_their_cells() -> None:
    assert text_table(("", "a", "long heading"), [("first", "1", "2"), ("b", "12345", "3")]) == [
        "           a  long heading",
        "first      1             2",
        "b      12345             3",
    ]


def test_columns_have_at_least_a_width_and_rows_may_end_early() -> None:
    assert text_table(("x", "1"), [("y",), ("z", "2")], least=4) == ["x     1", "y", "z     2"]


def test_columns_that_are_asked_for_stand_left_and_no_line_ends_in_blanks() -> None:
    assert text_table(("a", "n", "state"), [("x", "10", "up"), ("long", "2", "DOWN")], left=(0, 2)) == [
        "a      n  state",
        "x     10  up",
        "long   2  DOWN",
    ]


def test_rows_without_a_heading_are_aligned_alike_and_none_give_no_line() -> None:
    assert aligned([("1", "200"), ("10", "3")], left=()) == [" 1  200", "10    3"]
    assert aligned([]) == []
