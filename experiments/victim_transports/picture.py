"""The picture that answers the question: what the others keep and what victims get, beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.reporting.picture_style import bars, legend_below, look, new_figure
from experiments.results.exhibit import Exhibit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROWS = {
    "others": "kept by flows whose\nlinks victims take, %",
    "victims": "kept by victims, %",
    "lost": "lost packets\nof victims, %",
}
"""End of an exhibit's name to the label of its panels."""

_WIDTH = 0.21
"""Width of a bar; a transport has four at most, one place apart from those of the next."""


def transports_figure(exhibits: Sequence[Exhibit]) -> Figure:
    """Return a column of panels for each network."""
    by_row = {end: [each for each in exhibits if each.name.endswith(f"-{end}")] for end in _ROWS}
    columns = len(by_row["others"])
    labels = list(dict.fromkeys(line.label for each in exhibits for line in each.lines))
    figure = new_figure(4.2 * columns + 0.4, 6.4)
    panels = figure.subplots(len(_ROWS), columns, squeeze=False, sharey="row")
    for row, (end, shown) in zip(panels, by_row.items(), strict=True):
        row[0].set_ylabel(_ROWS[end], fontsize="small")
        for axes, exhibit in zip(row, shown, strict=True):
            _draw(axes, exhibit, labels)
            if end == "others":
                axes.set_title(exhibit.title.partition("; ")[2], fontsize="small", wrap=True)
    legend_below(figure, panels[0][0], most=4)
    return figure


def _draw(axes: Axes, exhibit: Exhibit, labels: Sequence[str]) -> None:
    """Draw the bars of each transport without gaps between them."""
    names = exhibit.columns
    drawn: dict[str, list[tuple[float, float]]] = {label: [] for label in labels}
    for place, name in enumerate(names):
        points = {label: exhibit.line(label).at(name).value for label in labels}
        known = {label: value for label, value in points.items() if value is not None}
        for number, (label, value) in enumerate(known.items()):
            drawn[label].append((place + (number - (len(known) - 1) / 2) * _WIDTH, value))
    for position, (label, found) in enumerate(drawn.items()):
        if found:
            places, heights = zip(*found, strict=True)
            bars(axes, places, heights, _WIDTH, look(position), label)
    axes.set_xticks(range(len(names)), [str(name) for name in names], fontsize="small", rotation=20)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
