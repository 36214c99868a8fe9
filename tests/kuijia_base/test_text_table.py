"""Columns of text tables are as wide as what stands in them, and pages know their tables."""

from __future__ import annotations

from kuijia_base.text_table import Page, TextTable, aligned


def test_the_first_column_stands_left_and_others_right_as_wide_as_their_cells() -> None:
    table = TextTable([("", "a", "long heading"), ("first", "1", "2"), ("b", "12345", "3")])
    assert str(table).splitlines() == [
        "           a  long heading",
        "first      1             2",
        "b      12345             3",
    ]


def test_columns_have_at_least_a_width_and_rows_may_end_early() -> None:
    table = TextTable([("x", "1"), ("y",), ("z", "2")], least=4)
    assert str(table).splitlines() == ["x     1", "y", "z     2"]


def test_columns_that_are_asked_for_stand_left_and_no_line_ends_in_blanks() -> None:
    table = TextTable([("a", "n", "state"), ("x", "10", "up"), ("long", "2", "DOWN")], left=(0, 2))
    assert str(table).splitlines() == [
        "a      n  state",
        "x     10  up",
        "long   2  DOWN",
    ]


def test_rows_are_aligned_alike_and_none_give_no_line() -> None:
    assert aligned([("1", "200"), ("10", "3")], left=()) == [" 1  200", "10    3"]
    assert aligned([]) == []


def test_wide_letters_take_two_columns_and_marks_none() -> None:
    table = TextTable([("node", "links"), ("北京", "1"), ("Zu\u0308rich", "12")])
    assert str(table).splitlines() == ["node    links", "北京        1", "Zu\u0308rich     12"]


def test_a_page_is_its_text_and_keeps_its_tables() -> None:
    table = TextTable([("a", "b"), ("1", "2")])
    page = Page.of(["above", table, "", "below"])
    assert page == "above\na  b\n1  2\n\nbelow"
    assert page.parts[1] is table


def test_a_table_that_is_too_wide_comes_in_pieces_that_name_rows_and_groups() -> None:
    table = TextTable(
        [("", "lost:", "", "sent:"), ("scheme", "mean", "worst", "mean"), ("kuijia", "1.5%", "12%", "3 Gbit/s")],
        headings=2,
    )
    assert table.within(30) == str(table)
    assert table.within(29).splitlines() == [
        "        lost:",
        "scheme   mean  worst",
        "kuijia   1.5%    12%",
        "",
        "           sent:",
        "scheme      mean",
        "kuijia  3 Gbit/s",
    ]


def test_no_cell_is_cut_where_even_one_column_is_too_wide() -> None:
    table = TextTable([("name", "a heading", "n"), ("x", "1", "2"), ("y", "1")])
    assert table.within(5).splitlines() == [
        "name  a heading",
        "x             1",
        "y             1",
        "",
        "name  n",
        "x     2",
        "y",
    ]
    assert TextTable([]).within(5) == ""
