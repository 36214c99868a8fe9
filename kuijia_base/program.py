"""The program `kuijia`, for libraries that start it: they are below the command line and never import it."""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGE = "kuijia"
"""Package of the command line."""


def kuijia_command(verb: str, *arguments: str) -> list[str]:
    """Return the command that runs a verb under this Python; start it in the folder of our packages."""
    return [sys.executable, "-m", PACKAGE, verb, *arguments]


def source_folder(package: str) -> Path:
    """Return the folder of one of our packages: next to this one in a clone, inside `kuijia` once installed."""
    root = Path(__file__).resolve().parents[1]
    return root / package if (root / package).is_dir() else root / PACKAGE / package
