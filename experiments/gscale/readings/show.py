"""The comparison of readings as text, JSON data and picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.gscale.cases import DEMANDS
from experiments.gscale.loss_figures import AXIS, LOSS_FIGURES
from experiments.gscale.readings.losses import FIGURES
from experiments.gscale.readings.reading import READINGS
from experiments.gscale.readings.summary import BAND, CURVES, Cell, Summary

FORMAT, VERSION = "kuijia-readings", 1
SHOWN = ("as reproduced", "nearest")
"""Readings whose curves are shown in full."""

_HEAVIEST = len(DEMANDS) - 1
_LABEL_WIDTH = max(map(len, READINGS)) + 2
_COLOURS = {"rescaling": "tab:red", "kuijia": "tab:blue"}
_INCHES = (8.4, 6.6)


def readings_to_json(summaries: Mapping[str, Summary], draws: int) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "draws": draws,
        "demands": list(DEMANDS),
        "band": list(BAND),
        "readings": {
            name: {
                "reading": asdict(READINGS[name]),
                "distance": summary.distance,
                "nearest_campaign": summary.nearest,
                "held": summary.held,
                "curves": {
                    f"{figure}, {scheme}": [asdict(cell) for cell in cells]
                    for (figure, scheme), cells in summary.curves.items()
                },
            }
            for name, summary in summaries.items()
        },
    }


def readings_text(summaries: Mapping[str, Summary], draws: int) -> str:
    """Return a line for each reading at the heaviest demand, then the curves of `SHOWN`."""
    cells = len(CURVES) * len(DEMANDS)
    lines = [
        f"Losses on Gscale under {len(summaries)} readings of section 5, fluid model, {draws} draws of pairs",
        "distance: root mean square of what means are from the published numbers, percentage points",
        f"held: how many of {cells} published numbers are where {BAND[1] - BAND[0]} % of campaigns are",
        f"then the mean loss in % at a demand of {DEMANDS[_HEAVIEST]:g}, R under rescaling, K under Kuijia",
        "",
        _line("", ["distance", "held", *(_short(*curve) for curve in CURVES)]),
        _line("published", ["", "", *(f"{_published(summaries, curve):.1f}" for curve in CURVES)]),
    ]
    for name, summary in summaries.items():
        means = [f"{summary.curves[curve][_HEAVIEST].mean:.1f}" for curve in CURVES]
        lines.append(_line(name, [f"{summary.distance:.1f}", str(summary.held), *means]))
    for name in SHOWN:
        lines += ["", *_curves(name, summaries[name])]
    return "\n".join(line.rstrip() for line in lines)


def readings_figure(summaries: Mapping[str, Summary]) -> Figure:
    """Return figures 10 to 13: published curves, ours, and those of the nearest reading with its band."""
    figure = Figure(figsize=_INCHES, dpi=150, layout="constrained")
    panels = figure.subplots(2, 2, sharex=True)
    for name, panel in zip(FIGURES, panels.flat, strict=True):
        _draw(panel, name, summaries)
        panel.grid(alpha=0.3)
    for panel in panels[-1]:
        panel.set_xlabel(AXIS)
    figure.legend(*panels[-1][-1].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    return figure


def _draw(panel: Axes, name: str, summaries: Mapping[str, Summary]) -> None:
    drawn = next(each for each in LOSS_FIGURES if each.name == name)
    panel.set_title(f"{drawn.reproduces}: {drawn.title}", fontsize="small")
    panel.set_ylabel(drawn.quantity)
    for scheme in [scheme for figure, scheme in CURVES if figure == name]:
        ours, nearest = (summaries[reading].curves[name, scheme] for reading in SHOWN)
        colour = _COLOURS[scheme]
        for reading, cells, style in zip(SHOWN, (ours, nearest), ("--", "-"), strict=True):
            panel.plot(DEMANDS, [cell.mean for cell in cells], style, color=colour, label=f"{scheme}, {reading}")
        low, high = [cell.low for cell in nearest], [cell.high for cell in nearest]
        panel.fill_between(DEMANDS, low, high, color=colour, alpha=0.12)
        published = [cell.published for cell in nearest]
        panel.plot(DEMANDS, published, "D:", color=colour, markerfacecolor="none", label=f"{scheme}, published")


def _curves(name: str, summary: Summary) -> Iterator[str]:
    yield f"{name}: mean, {BAND[0]} % and {BAND[1]} % of campaigns, part of them below the published number"
    yield _line("", [f"{demand:g}" for demand in DEMANDS], 24)
    for curve, cells in summary.curves.items():
        yield _line(_short(*curve), [_cell(cell) for cell in cells], 24)
        yield _line("  published", [f"{cell.published:.1f}" for cell in cells], 24)


def _cell(cell: Cell) -> str:
    return f"{cell.mean:.1f} ({cell.low:.1f} to {cell.high:.1f}), {cell.below:.0%}"


def _published(summaries: Mapping[str, Summary], curve: tuple[str, str]) -> float:
    return next(iter(summaries.values())).curves[curve][_HEAVIEST].published


def _short(figure: str, scheme: str) -> str:
    return f"{figure} {scheme[0].upper()}"


def _line(label: str, cells: list[str], width: int = 9) -> str:
    return f"{label:<{_LABEL_WIDTH}}" + "".join(f"{cell:>{width}}" for cell in cells)
