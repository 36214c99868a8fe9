"""Terminals, on which tables are drawn and progress moves; pipes, files and dumb terminals get plain lines."""

from __future__ import annotations

import os
from typing import TextIO

_DUMB = frozenset({"", "dumb", "unknown"})
"""Kinds of terminals, as TERM names them, that only print lines."""


def draws(stream: TextIO) -> bool:
    """Return True if a stream is a terminal that can draw and overwrite."""
    return stream.isatty() and (os.name == "nt" or os.environ.get("TERM", "") not in _DUMB)
