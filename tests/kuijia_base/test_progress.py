"""Progress is one changing line on a terminal, and an occasional plain line elsewhere."""

from __future__ import annotations

import io

import pytest

from kuijia_base.progress import PATIENCE_SECONDS, PLAIN_INTERVAL, Progress
from tests.terminals import terminal


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def colourless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)


def test_a_terminal_shows_the_present_state_in_one_line_that_vanishes() -> None:
    with terminal() as seen:
        progress = Progress(seen.stream)
        progress.show("one")
        assert seen.shown().strip() == "one"
        progress.show("two")
        assert seen.written().rstrip() == "\r\x1b[2Ktwo"
        progress.say("done")
        assert seen.written().rpartition("\x1b[2K")[2].split() == ["done"]
        progress.close()


def test_a_state_of_known_end_has_a_bar_that_grows() -> None:
    with terminal() as seen:
        progress = Progress(seen.stream)
        progress.show("3 of 20 cases", 3, 20)
        assert seen.shown().strip() == "3 of 20 cases ━━━"
        progress.show("20 of 20 cases", 20, 20)
        assert seen.shown().strip() == f"20 of 20 cases {'━' * 20}"
        progress.close()


def test_counts_are_drawn_at_most_ten_times_a_second_but_the_last() -> None:
    with terminal() as seen:
        progress = Progress(seen.stream)
        for done in range(1001):
            progress.show(f"{done} of 1,000", done, 1000)
        drawn = seen.written()
        progress.close()
    assert "1000 of 1,000" in drawn
    assert drawn.count(" of 1,000") < 100


def test_a_line_on_a_terminal_does_not_wrap() -> None:
    with terminal(columns=30) as seen:
        progress = Progress(seen.stream)
        progress.show("x" * 1000, 1, 2)
        drawn = seen.shown().strip()
        progress.close()
    assert len(drawn) <= 30
    assert drawn.startswith("xxx")


def test_the_cursor_stays_visible() -> None:
    with terminal() as seen:
        Progress(seen.stream).show("one")
        assert "\x1b[?25l" not in seen.written()


def test_a_terminal_that_cannot_overwrite_has_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with terminal() as seen:
        Progress(seen.stream).show("one", 1, 2)
        assert seen.written() == "one\r\n"


def test_elsewhere_there_is_a_plain_line_now_and_then() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress(stream, clock)
    for tick in range(4):
        clock.now = tick * PLAIN_INTERVAL / 2
        progress.show(f"state {tick}")
    progress.close()
    assert stream.getvalue() == "state 0\nstate 2\n"


def test_what_is_said_is_never_left_out() -> None:
    stream = io.StringIO()
    progress = Progress(stream, Clock())
    progress.show("one")
    progress.say("important")
    progress.show("two")
    assert stream.getvalue() == "one\nimportant\ntwo\n"


@pytest.mark.usefixtures("late_progress")
def test_work_that_is_shown_patiently_says_nothing_until_it_has_taken_long() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress(stream, clock)
    clock.now = 100.0
    show = progress.patiently()
    show("short")
    clock.now += PATIENCE_SECONDS
    show("short, too")
    clock.now += 0.1
    show("long")
    assert stream.getvalue() == "long\n"
