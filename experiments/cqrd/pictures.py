"""Pictures in the papers' style: cumulative distributions of completion times on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.reporting.picture_style import look, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOKS = {label: look(position) for position, label in enumerate(("CQRD", "CQ", "HCF", "OQ", "OQ, TCP"))}
_QUANTILES = np.linspace(0, 100, 201)

Marks = Mapping[str, Sequence[tuple[float, float]]]
"""Published points of each curve: value and percentile."""


def cdf_figure(
    panels: Mapping[str, Mapping[str, NDArray[np.float64]]], unit: str, published: Mapping[str, Marks] | None = None
) -> Figure:
    """Return panels side by side, each with a curve for every switch; published points are hollow marks."""
    from matplotlib.lines import Line2D  # noqa: PLC0415  # not always installed

    figure = new_figure(1 + 3.4 * len(panels), 3.8)
    all_axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (title, curves) in zip(all_axes, panels.items(), strict=True):
        for label, values in curves.items():
            how = _LOOKS[label]
            at = np.percentile(values, _QUANTILES)
            axes.plot(at, _QUANTILES / 100, color=how.colour, linestyle=how.dashes, label=label)
        for label, points in (published or {}).get(title, {}).items():
            x, part = [point[0] for point in points], [point[1] / 100 for point in points]
            axes.plot(x, part, "D", color=_LOOKS[label].colour, markerfacecolor="none", markersize=5)
        axes.set_xscale("log")
        axes.set_xlabel(unit)
        axes.set_title(title, fontsize="medium")
        axes.grid(alpha=0.3)
    all_axes[0].set_ylabel("part of flows")
    handles, labels = all_axes[0].get_legend_handles_labels()
    if published:
        handles.append(Line2D([], [], color="black", marker="D", markerfacecolor="none", linestyle=""))
        labels.append("published")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
    return figure
