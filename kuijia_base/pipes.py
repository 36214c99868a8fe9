"""Opens files that may be named pipes: one that nobody writes to would hold up its reader for ever."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import BinaryIO

SECONDS = 0.75
"""Time in which somebody must open a pipe to write: with the start of a command less than two seconds."""


def open_to_read(path: Path) -> BinaryIO:
    """Return an open file.

    Raises:
        OSError: it cannot be opened, or it is a named pipe that nobody opens to write in time.
        ValueError: the path has a NUL.
    """
    if not stat.S_ISFIFO(path.stat().st_mode):
        return path.open("rb")
    opened: SimpleQueue[BinaryIO | OSError] = SimpleQueue()

    def wait() -> None:
        try:
            opened.put(path.open("rb"))
        except OSError as error:
            opened.put(error)

    Thread(target=wait, daemon=True).start()
    try:
        found = opened.get(timeout=SECONDS)
    except Empty:
        _end_wait(path)
        raise TimeoutError("nobody writes to this pipe") from None
    if isinstance(found, OSError):
        raise found
    return found


def _end_wait(path: Path) -> None:
    """Be the writer of a pipe for a moment, so that whoever waits for one gets an empty file."""
    if sys.platform != "win32":  # which has no such files
        with suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
