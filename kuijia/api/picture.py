"""Pictures as results: shown by notebooks, and saved as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kuijia_base.errors import InputError, shown
from kuijia_base.text import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")

_SHOWN_DPI = 80
"""Dots per inch in a notebook."""


class Picture:
    """A picture, whose `figure` is matplotlib's; no screen is needed."""

    def __init__(self, figure: Figure, title: str) -> None:
        self.figure = figure
        self.title = title

    def save(self, path: str | Path) -> Path:
        """Write the picture into a file that ends in .png, .svg or .pdf; raises InputError."""
        path = Path(path)
        if path.suffix not in SUFFIXES:
            raise InputError(path, "", f"{shown(path.suffix)} is not the suffix of a picture", ", ".join(SUFFIXES))
        write_bytes(path, self._content(path.suffix))
        return path

    def __repr__(self) -> str:
        return f"Picture({self.title!r})"

    def _repr_png_(self) -> bytes:
        return self._content(".png", _SHOWN_DPI)

    def _content(self, suffix: str, dpi: float | None = None) -> bytes:
        from kuijia_base.picture_file import picture_bytes  # noqa: PLC0415  # slow to import: matplotlib

        return picture_bytes(self.figure, suffix, dpi)
