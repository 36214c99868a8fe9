"""Bar charts in the style of Hedera's slides: patterns side by side, a bar for each placement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

_COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:gray", "tab:purple")
_GROUP = 0.8


def bar_figure(
    patterns: Sequence[str],
    bars: Mapping[str, Sequence[float]],
    unit: str,
    published: Mapping[str, Sequence[float]] | None = None,
) -> Figure:
    """Return a group of bars for each pattern; published values are short black lines across the bars."""
    figure = Figure(figsize=(max(5.0, 0.62 * len(patterns) + 1.5), 3.8), dpi=150, layout="constrained")
    axes = figure.subplots()
    middle = np.arange(len(patterns))
    width = _GROUP / len(bars)
    for number, (name, heights) in enumerate(bars.items()):
        places = middle + (number - (len(bars) - 1) / 2) * width
        axes.bar(places, heights, width, label=name, color=_COLOURS[number % len(_COLOURS)])
        if published is not None:
            label = "published" if number == 0 else "_nolegend_"
            ends = places - width / 2, places + width / 2
            axes.hlines(published[name], *ends, colors="black", linewidth=1, label=label)
    axes.set_xticks(middle, patterns, rotation=45, ha="right", fontsize="small")
    axes.set_ylabel(unit)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    figure.legend(loc="outside upper center", ncols=len(bars) + 1, fontsize="small")
    return figure
