"""Pictures in the style of the papers: queues over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.reporting.picture_style import legend_below, look, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Vector = NDArray[np.float64]


def timeline_figure(curves: Mapping[str, tuple[Vector, Vector]]) -> Figure:
    """Return the packets that wait over milliseconds, a curve for each transport."""
    figure = new_figure(5, 3.4)
    axes = figure.subplots()
    for position, (label, (times, queued)) in enumerate(curves.items()):
        how = look(position)
        axes.plot(1e3 * times, queued, color=how.colour, linestyle=how.dashes, label=label)
    axes.set_xlabel("time (ms)")
    axes.set_ylabel("queue (packets)")
    axes.grid(alpha=0.3)
    legend_below(figure, axes)
    return figure
