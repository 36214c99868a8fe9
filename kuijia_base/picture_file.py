"""Pictures: a style by which series differ without colour too, and files with the same bytes at any time.

Pictures need matplotlib, which only the extra `plot` of kuijia installs: nothing here imports it before it draws.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from kuijia_base.additions import is_installed
from kuijia_base.output_folder import OutputFolder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
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


COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
"""Colours by Okabe and Ito, distinguishable with any kind of colour vision."""

_DASHES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)), (0, (3, 1)), (0, (7, 2)))
_MARKS = "osD^vPX"
_HATCHES = ("", "////", "||||", "xxxx", "\\\\\\\\", "++", "--")
"""No dots: matplotlib writes them as a quarter of a megabyte of circles into each picture."""


@dataclass(frozen=True)
class Look:
    """Look of one series; `dashes` is a line style of matplotlib."""

    colour: str
    dashes: Any
    mark: str
    hatch: str


def look(position: int) -> Look:
    """Return the look of a picture's series number `position`; looks repeat after as many as there are colours."""
    at = position % len(COLOURS)
    return Look(COLOURS[at], _DASHES[at], _MARKS[at], _HATCHES[at])


def new_figure(width: float, height: float, dpi: float = 150) -> Figure:
    """Return an empty figure of this size in inches that makes room for its labels."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # not always installed

    return Figure(figsize=(width, height), dpi=dpi, layout="constrained")


def in_percent(axis: Axis) -> None:
    """Write the numbers of an axis, which are parts of one, as percentages."""
    from matplotlib.ticker import PercentFormatter  # noqa: PLC0415  # not always installed

    axis.set_major_formatter(PercentFormatter(1.0))


def bars(
    axes: Axes,
    places: Sequence[float],
    heights: Sequence[float],
    width: float,
    how: Look,
    label: str,
    spread: Sequence[Sequence[float]] | None = None,
) -> None:
    """Draw bars that differ by colour and hatching; `spread` is how far runs lie below and above them."""
    axes.bar(
        places,
        heights,
        width,
        yerr=spread,
        color=how.colour,
        hatch=how.hatch,
        edgecolor="white",
        linewidth=0.0,
        ecolor="0.25",
        label=label,
    )


def legend_below(figure: Figure, axes: Axes, most: int = 3) -> None:
    """Add the legend of one panel below all panels; nothing when it has no series."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        columns = min(most, len(labels))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize="small", frameon=False)
