"""The picture of Figure 2: throughput and loss against the size of the buffer, the published values as hollow marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.reporting.picture_style import legend_below, look, new_figure
from experiments.results.exhibit import Exhibit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def fig2_figure(throughput: Exhibit, loss: Exhibit) -> Figure:
    """Return both panels side by side."""
    figure = new_figure(8.5, 3.8)
    all_axes = figure.subplots(1, 2)
    for axes, exhibit in zip(all_axes, (throughput, loss), strict=True):
        for position, line in enumerate(exhibit.lines):
            how = look(position)
            ours = [(float(point.x), point.value) for point in line.points if point.value is not None]
            theirs = [(float(point.x), point.published) for point in line.points if point.published is not None]
            axes.plot(*zip(*ours, strict=True), color=how.colour, linestyle=how.dashes, label=line.label)
            style = {"color": how.colour, "markerfacecolor": "none", "markersize": 5, "linestyle": ""}
            axes.plot(*zip(*theirs, strict=True), how.mark, label=f"{line.label}, published", **style)
        axes.set_xscale("log")
        axes.set_xlabel(exhibit.axis)
        axes.set_ylabel(exhibit.quantity)
        axes.set_ylim(bottom=0)
        axes.grid(color="0.9")
    legend_below(figure, all_axes[0], most=5)
    return figure
