"""Picture of a packet study: slowdown of flows over the offered load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from kuijia_base.picture_style import look

_PANEL = (4.2, 3.4)
_ALL = 0
"""Place of the class of all flows among a run's classes."""


def slowdowns(runs: Sequence[Mapping[str, Any]]) -> Figure:
    """Return two panels, the mean and the 99th percentile of slowdowns, with a line for each queue and transport.

    Seeds of a load are averaged. A slowdown is the completion time as a multiple of that in an empty network.
    """
    figure = Figure(figsize=(2 * _PANEL[0], _PANEL[1]), layout="constrained")
    of_line: dict[str, dict[float, list[Mapping[str, Any]]]] = {}
    for run in runs:
        line = of_line.setdefault(f"{run['queue']}, {run['transport']}", {})
        line.setdefault(run["load"] or 0.0, []).append(run["classes"][_ALL]["slowdown"])
    for axes, key, title in zip(figure.subplots(1, 2), ("mean", "p99"), ("mean", "99th percentile"), strict=True):
        for position, (label, by_load) in enumerate(of_line.items()):
            known = {
                load: [each[key] for each in found if each[key] is not None] for load, found in sorted(by_load.items())
            }
            loads = [load for load, values in known.items() if values]
            means = [sum(known[load]) / len(known[load]) for load in loads]
            style = look(position)
            axes.plot(loads, means, color=style.colour, linestyle=style.dashes, marker="o", markersize=4, label=label)
        axes.set_xlabel("offered load")
        axes.set_ylabel(f"slowdown, {title}")
        axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure
