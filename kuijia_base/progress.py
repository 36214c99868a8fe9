"""Shows the progress of work on a terminal as one changing line; pipes, files and dumb terminals get plain lines."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from kuijia_base.drawing import ProgressDisplay


_DUMB = frozenset({"", "dumb", "unknown"})
"""Kinds of terminals, as TERM names them, that only print lines."""

_USUAL_COLUMNS = 80


def draws(stream: TextIO) -> bool:
    """Return True if a stream is a terminal that can draw and overwrite."""
    return stream.isatty() and (os.name == "nt" or os.environ.get("TERM", "") not in _DUMB)


def columns_of(stream: TextIO) -> int:
    """Return the width of a terminal: that of COLUMNS if it is set, 80 if it is unknown."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS
    except OSError:
        return _USUAL_COLUMNS


PLAIN_INTERVAL = 5.0
"""Seconds between two state lines if lines cannot be overwritten."""

PATIENCE_SECONDS = 2.0
"""Seconds that work may take before its progress is shown."""


def takes_long(seconds: float) -> bool:
    """Return True for work that has taken so long that its progress is shown."""
    return seconds > PATIENCE_SECONDS


class Show(Protocol):
    """Shows a state of work, of which so many things `of` all are done; None if it is unknown how many there are."""

    def __call__(self, text: str, done: int = 0, of: int | None = None) -> None: ...


class Progress:
    """Writes progress to `stream`, normally standard error; `clock` returns seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._draws = draws(stream)
        self._display: ProgressDisplay | None = None
        self._last_plain: float | None = None

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self.close()
        self._print(text)
        self._last_plain = None

    def show(self, text: str, done: int = 0, of: int | None = None) -> None:
        """Show the present state in place of the previous one; see `Show`."""
        if self._draws:
            if self._display is None:
                from kuijia_base.drawing import ProgressDisplay  # noqa: PLC0415  # slow to import: rich

                self._display = ProgressDisplay(self._stream)
            self._display.show(text, done, of)
            return
        now = self._clock()
        if self._last_plain is None or now - self._last_plain >= PLAIN_INTERVAL:
            self._print(text)
            self._last_plain = now

    def patiently(self) -> Show:
        """Return `show` for work that begins now: until that has taken `PATIENCE_SECONDS` it shows nothing."""
        begun = self._clock()

        def show(text: str, done: int = 0, of: int | None = None) -> None:
            if takes_long(self._clock() - begun):
                self.show(text, done, of)

        return show

    def close(self) -> None:
        """Remove the changing line, so that later output starts on a line of its own."""
        if self._display is not None:
            self._display.close()
            self._display = None

    def _print(self, line: str) -> None:
        self._stream.write(f"{line}\n")
        self._stream.flush()


class _Silent(Progress):
    """Progress that nobody wants to see; what is said of the input is in the results."""

    def show(self, text: str, done: int = 0, of: int | None = None) -> None:
        pass

    def say(self, line: str) -> None:
        pass


class _Patient(Progress):
    """Progress that shows nothing in the first two seconds: in a notebook what it shows stays."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._begun = time.monotonic()

    def show(self, text: str, done: int = 0, of: int | None = None) -> None:
        if takes_long(time.monotonic() - self._begun):
            super().show(text, done, of)


@contextmanager
def progress_line(*, patient: bool = False, silent: bool = False) -> Iterator[Progress]:
    """Yield progress that ends its line with the block; `patient` for work of any length, `silent` for none at all."""
    kind = _Silent if silent else _Patient if patient else Progress
    progress = kind(_stream())
    try:
        yield progress
    finally:
        progress.close()


def _stream() -> TextIO:
    """Return where progress goes; a notebook would put standard error into a red box."""
    return sys.stdout if type(sys.stderr).__module__.startswith("ipykernel.") else sys.stderr
