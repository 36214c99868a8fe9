"""Progress is one changing line on a terminal, and an occasional plain line elsewhere."""

from __future__ import annotations

import io

from kuijia_base.progress import PATIENCE_SECONDS, PLAIN_INTERVAL, Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_terminal_shows_the_present_state_in_one_line() -> None:
    stream = Terminal()
    progress = Progress(stream)
    progress.show("one")
    progress.show("two")
    progress.say("done")
    progress.close()
    assert stream.getvalue() == "\r\x1b[Kone\r\x1b[Ktwo\ndone\n"


def test_a_line_on_a_terminal_does_not_wrap() -> None:
    stream = Terminal()
    Progress(stream).show("x" * 1000)
    assert len(stream.getvalue()) < 1000


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
