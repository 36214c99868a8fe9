"""Shows the progress of an experiment: one changing line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import TextIO

PLAIN_INTERVAL = 5.0
"""Seconds between two state lines if lines cannot be overwritten."""

_TO_START_AND_ERASE = "\r\x1b[K"

PATIENCE_SECONDS = 2.0
"""Seconds that work may take before its progress is shown."""


class Progress:
    """Writes progress to `stream`, normally standard error; `clock` returns seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._overwrites = stream.isatty()
        self._line_is_open = False
        self._last_plain: float | None = None

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self.close()
        self._stream.write(f"{text}\n")
        self._stream.flush()
        self._last_plain = None

    def show(self, text: str) -> None:
        """Show the present state in place of the previous one."""
        if self._overwrites:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"{_TO_START_AND_ERASE}{text[:width]}")
            self._stream.flush()
            self._line_is_open = True
            return
        now = self._clock()
        if self._last_plain is None or now - self._last_plain >= PLAIN_INTERVAL:
            self._stream.write(f"{text}\n")
            self._stream.flush()
            self._last_plain = now

    def patiently(self) -> Callable[[str], None]:
        """Return `show` for work that begins now: until that has taken `PATIENCE_SECONDS` it shows nothing."""
        begun = self._clock()

        def show(text: str) -> None:
            if self._clock() - begun > PATIENCE_SECONDS:
                self.show(text)

        return show

    def close(self) -> None:
        """End the changing line, so that later output starts on a line of its own."""
        if self._line_is_open:
            self._stream.write("\n")
            self._stream.flush()
            self._line_is_open = False
