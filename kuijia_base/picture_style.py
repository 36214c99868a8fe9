"""Visual style of all pictures: colours, dashes, marks and hatching by which series differ also without colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


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
