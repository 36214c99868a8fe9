"""Makes files of pictures: the same picture gives the same bytes, at any time."""

from __future__ import annotations

import warnings
from io import BytesIO

import matplotlib as mpl
from matplotlib.figure import Figure

_TIMELESS: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
"""Metadata that keep the date out of a file."""


def picture_bytes(figure: Figure, suffix: str) -> bytes:
    """Return the content of a file with this suffix, such as ".svg"; letters that the font lacks are drawn as boxes.

    Raises:
        ValueError: matplotlib does not know the suffix.
    """
    content = BytesIO()
    # Text stays text, which can be searched, copied and read aloud.
    with mpl.rc_context({"svg.hashsalt": "kuijia", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(content, format=suffix[1:], metadata=_TIMELESS.get(suffix))
    return content.getvalue()


def plain(text: str) -> str:
    """Return the text with dollar signs escaped, which mean formulas to matplotlib."""
    return text.replace("$", r"\$")
