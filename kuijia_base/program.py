"""The program `kuijia`, for libraries that start it: they are below the command line and never import it."""

from __future__ import annotations

import sys

PACKAGE = "kuijia"
"""Package of the command line."""


def kuijia_command(verb: str, *arguments: str) -> list[str]:
    """Return the command that runs a verb under this Python; start it in the folder of our packages."""
    return [sys.executable, "-m", PACKAGE, verb, *arguments]
