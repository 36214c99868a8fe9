"""Draws pictures of results, into files, never on a screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.results.result import Result
from kuijia_base.picture_style import look, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_INCHES = (4.8, 3.8)
_HEADROOM = 1.1


def goodput_figure(results: Sequence[Result], title: str) -> Figure:
    """Return the goodput over time around the cut at zero, a panel per scheme; repeated runs overlap.

    Published levels after the cut, scaled to the capacity, are dotted lines in the colour of their flow.
    """
    schemes = list(dict.fromkeys(result.scheme for result in results))
    width, height = _PANEL_INCHES
    figure = new_figure(width * len(schemes), height)
    panels = figure.subplots(1, len(schemes), sharex=True, sharey=True, squeeze=False)[0]
    for panel, scheme in zip(panels, schemes, strict=True):
        runs = [result for result in results if result.scheme == scheme and not result.invalid]
        for result in runs:
            _draw_run(panel, result, is_first=result is runs[0], alpha=1 / len(runs) ** 0.5)
        panel.set_title(scheme)
        panel.set_xlabel("seconds since the cut")
        panel.grid(alpha=0.3)
    # Bytes that a busy receiver reads late make spikes above the capacity, which would squash the rest.
    panels[0].set_ylim(0, _HEADROOM * results[0].capacity)
    panels[0].set_xlim(
        min(result.before.start - result.failure.at for result in results),
        max(result.after.end - result.failure.at for result in results),
    )
    panels[0].set_ylabel("goodput (Mbit/s)")
    lines = {str(line.get_label()): line for panel in panels for line in panel.get_legend_handles_labels()[0]}
    if lines:
        figure.legend(
            lines.values(), lines.keys(), loc="outside lower center", ncols=len(lines), fontsize="small", frameon=False
        )
    figure.suptitle(title)
    return figure


def _draw_run(panel: Axes, result: Result, *, is_first: bool, alpha: float) -> None:
    cut = result.failure.at
    for position, flow in enumerate(result.flows):
        colour = look(position).colour
        middles = [(start + end) / 2 - cut for start, end in zip(flow.series.start, flow.series.end, strict=True)]
        label = f"{flow.name} ({flow.role})" if is_first else None
        panel.plot(middles, flow.series.goodput, color=colour, linewidth=1, alpha=alpha, label=label)
        if is_first and result.published is not None:
            level = result.published["flows"][flow.name]["after"] / result.published["capacity"] * result.capacity
            start, end = result.after.start - cut, result.after.end - cut
            label = "in the paper" if position + 1 == len(result.flows) else None
            panel.plot([start, end], [level, level], color=colour, linewidth=2, linestyle=":", label=label)
    if is_first:
        panel.axvline(0, color="black", linestyle="--", linewidth=1)
        panel.annotate(
            f"{'-'.join(result.failure.link)} cut",
            xy=(0, 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, -10),
            textcoords="offset points",
            fontsize="small",
        )
