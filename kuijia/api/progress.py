"""Progress of work on standard error, or below the cell of a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from kuijia_base.progress import Progress, takes_long


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
