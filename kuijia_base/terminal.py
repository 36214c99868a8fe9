"""Terminals, on which tables are drawn and progress moves; pipes, files and dumb terminals get plain lines."""

from __future__ import annotations

import os
from typing import TextIO

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
