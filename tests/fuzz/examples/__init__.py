"""Valid files, one or more of each format, that fuzzing starts from."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def texts(*names: str) -> list[str]:
    """Return the content of the files of these names."""
    return [(FOLDER / name).read_text(encoding="utf-8") for name in names]
