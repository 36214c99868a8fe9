"""Pages are plain text in pipes and files; on a terminal their tables are drawn, at most as wide as it is."""

from __future__ import annotations

import sys

import pytest

from kuijia.cli.main import main
from kuijia.cli.printing import show
from kuijia_base.text_table import Page, TextTable
from tests.terminals import terminal

TABLE = TextTable(
    [("", "lost:", "", "sent:"), ("scheme", "mean", "worst", "mean"), ("kuijia", "1.5%", "12%", "3 Gbit/s")], headings=2
)
DRAWN = [
    "         lost:              sent:",
    "scheme    mean   worst       mean",
    "─────────────────────────────────",
    "kuijia    1.5%     12%   3 Gbit/s",
]


@pytest.fixture(autouse=True)
def colourless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)


def on_a_terminal(page: Page, columns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    with terminal(columns) as seen:
        monkeypatch.setattr(sys, "stdout", seen.stream)
        show(page)
        return [line.rstrip() for line in seen.shown().splitlines()]


def test_a_page_that_is_piped_is_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    page = Page.of(["above", TABLE])
    show(page)
    show(["above", TABLE])
    assert capsys.readouterr().out == f"{page}\n{page}\n"


def test_tables_are_drawn_between_the_lines_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_a_terminal(Page.of(["above", TABLE, "", "below"]), 80, monkeypatch) == ["above", *DRAWN, "", "below"]


def test_a_narrow_terminal_has_columns_below_each_other_and_no_cell_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_a_terminal(Page.of([TABLE]), 20, monkeypatch) == [
        "         lost:",
        "scheme    mean",
        "──────────────",
        "kuijia    1.5%",
        "",
        "         lost:",
        "scheme   worst",
        "──────────────",
        "kuijia     12%",
        "",
        "            sent:",
        "scheme       mean",
        "─────────────────",
        "kuijia   3 Gbit/s",
    ]


def test_each_piece_has_the_columns_that_tell_rows_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("queue", "load", "lost", "sent"), ("tail", "0.3", "1.5%", "3 Gbit/s"), ("tail", "0.6", "2%", "3 Gbit/s")]
    table = TextTable(rows)
    assert on_a_terminal(Page.of([table]), 25, monkeypatch) == [
        "queue   load   lost",
        "───────────────────",
        "tail     0.3   1.5%",
        "tail     0.6     2%",
        "",
        "queue   load       sent",
        "───────────────────────",
        "tail     0.3   3 Gbit/s",
        "tail     0.6   3 Gbit/s",
    ]
    without_room = on_a_terminal(Page.of([table]), 20, monkeypatch)
    assert without_room[0] == "queue   load   lost"
    assert without_room[5] == "queue       sent"


def test_words_are_folded_before_columns_part(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TextTable([("name", "about"), ("x", "a row of words that is long")], left=(0, 1))
    lines = on_a_terminal(Page.of([table]), 34, monkeypatch)
    assert lines[-1] == "x      a row of words that is long"
    folded = on_a_terminal(Page.of([table]), 32, monkeypatch)
    assert " ".join(" ".join(folded[2:]).split()) == "x a row of words that is long"
    assert len(folded) == 4


def test_a_terminal_that_cannot_draw_has_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert on_a_terminal(Page.of([TABLE]), 20, monkeypatch) == str(TABLE).splitlines()


def test_only_colours_are_left_out_by_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    assert on_a_terminal(Page.of([TABLE]), 80, monkeypatch) == DRAWN


def test_letters_that_a_terminal_lacks_are_drawn_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(80, encoding="ascii") as seen:
        monkeypatch.setattr(sys, "stdout", seen.stream)
        show([TABLE])
        assert "\\u" not in seen.shown()


def test_a_command_draws_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(110) as seen:
        monkeypatch.setattr(sys, "stdout", seen.stream)
        assert main(["whatif", "fig1", "fig1", "--schemes", "kuijia"]) == 0
        lines = [line.strip() for line in seen.shown().splitlines()]
    assert lines[0] == "fig1: 5 failures, 1 pair"
    assert "kuijia   2 Gbit/s   2 Gbit/s            33.33%   33.33%                    3.2       4      50.00%" in lines
