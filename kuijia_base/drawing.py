"""What rich draws on terminals: its view of a terminal, and the changing line of progress. Slow to import."""

from __future__ import annotations

import os
import time
from typing import TextIO

from rich.console import Console, RenderableType
from rich.progress import Progress, ProgressColumn, Task, TextColumn
from rich.progress_bar import ProgressBar
from rich.table import Column
from rich.text import Text

_MOST_OFTEN = 0.1
"""Seconds between two counts that are drawn; states without a count are all drawn, as they may stand for long."""

_BAR = 20
"""Characters of a bar."""


class Terminal(Console):
    """A terminal that shows texts as they are, without colours for numbers and words in them."""

    def __init__(self, stream: TextIO) -> None:
        # Variables such as FORCE_COLOR and a notebook around us decide nothing: the stream is known to be a terminal.
        super().__init__(
            file=stream,
            width=_width_of(stream),
            force_terminal=True,
            force_jupyter=False,
            highlight=False,
            markup=False,
            emoji=False,
        )

    def show_cursor(self, show: bool = True) -> bool:  # noqa: FBT001, FBT002  # rich's
        """Leave the cursor alone: a process that is killed could not bring it back."""
        del show
        return False


def _width_of(stream: TextIO) -> int | None:
    """Return the columns of a terminal, which rich would ask standard input for; None if they are set or unknown."""
    if "COLUMNS" in os.environ:
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except OSError:
        return None


class ProgressDisplay:
    """The changing line at the end of a terminal: a text and, where the end is known, a bar."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = Terminal(stream)
        text = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
        self._progress = Progress(
            text,
            _Bar(),
            console=self._terminal,
            auto_refresh=False,  # its thread would be alive while processes fork
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task("", of=None)
        self._drawn = -_MOST_OFTEN

    def show(self, text: str, done: int, of: int | None) -> None:
        """Show a text and, if there are so many things to do, how many of them are done."""
        now = time.monotonic()
        if of is not None and done < of and now - self._drawn < _MOST_OFTEN:
            return
        self._drawn = now
        if (width := _width_of(self._stream)) is not None:
            self._terminal.width = width
        self._progress.update(self._task, description=text, completed=done, of=of)
        if self._progress.live.is_started:
            self._progress.refresh()
        else:
            self._progress.start()

    def close(self) -> None:
        """Remove the line."""
        self._progress.stop()


class _Bar(ProgressColumn):
    """A bar, or nothing while it is unknown how much there is to do."""

    def render(self, task: Task) -> RenderableType:
        of: int | None = task.fields["of"]
        return Text() if of is None else ProgressBar(of, task.completed, width=_BAR)
