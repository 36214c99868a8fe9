"""Progress of work on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from kuijia_base.progress import Progress, takes_long


class _Patient(Progress):
    """Progress that shows nothing in the first two seconds: in a notebook what it shows stays."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._begun = time.monotonic()

    def show(self, text: str, done: int = 0, of: int | None = None) -> None:
        if takes_long(time.monotonic() - self._begun):
            super().show(text, done, of)


@contextmanager
def progress_line(*, patient: bool = False) -> Iterator[Progress]:
    """Yield progress on standard error, which ends its line with the block; `patient` for work of any length."""
    progress = _Patient(sys.stderr) if patient else Progress(sys.stderr)
    try:
        yield progress
    finally:
        progress.close()
