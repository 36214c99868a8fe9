"""Makes files of pictures: the same picture is the same bytes, whenever it is drawn."""

from __future__ import annotations

import warnings
from io import BytesIO

import matplotlib as mpl
from matplotlib.figure import Figure

_TIMELESS: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
"""Metadata that keep the date out of a file."""


def picture_bytes(figure: Figure, suffix: str) -> bytes:
    """The content of a file with this suffix, such as ".svg"; letters that the font lacks are drawn as boxes.

    Raises:
        ValueError: a suffix that matplotlib has no kind of picture for.
    """
    content = BytesIO()
    # Text stays text, which can be searched, copied and read aloud.
    with mpl.rc_context({"svg.hashsalt": "kuijia", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(content, format=suffix[1:], metadata=_TIMELESS.get(suffix))
    return content.getvalue()


def plain(text: str) -> str:
    """The text as it is, though dollar signs mean formulas to matplotlib."""
    return text.replace("$", r"\$")
