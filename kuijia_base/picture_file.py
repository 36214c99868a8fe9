"""Makes files of pictures: the same picture gives the same bytes, at any time.

Pictures need matplotlib, which only the extra `plot` of kuijia installs: nothing here imports it before it draws.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING

from kuijia_base.extras import is_installed
from kuijia_base.output_folder import OutputFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIBRARY = "matplotlib"

_TIMELESS: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
"""Metadata that keep the date out of a file."""


def picture_bytes(figure: Figure, suffix: str, dpi: float | None = None) -> bytes:
    """Return the content of a file with this suffix, such as ".svg"; letters that the font lacks are drawn as boxes.

    `dpi` are the dots per inch of a bitmap, by default those of the figure.

    Raises:
        ValueError: matplotlib does not know the suffix.
    """
    import matplotlib as mpl  # noqa: PLC0415  # slow to import, and not always installed

    content = BytesIO()
    # Text stays text, which can be searched, copied and read aloud.
    with mpl.rc_context({"svg.hashsalt": "kuijia", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(content, format=suffix[1:], metadata=_TIMELESS.get(suffix), dpi=dpi or "figure")
    return content.getvalue()


def write_picture(output: OutputFolder, name: str, draw: Callable[[], Figure]) -> None:
    """Write the picture that goes with a result; without matplotlib nothing, as the numbers are in other files."""
    if is_installed(LIBRARY):
        output.write_bytes(name, picture_bytes(draw(), PurePath(name).suffix))


def plain(text: str) -> str:
    """Return the text with dollar signs escaped, which mean formulas to matplotlib."""
    return text.replace("$", r"\$")
