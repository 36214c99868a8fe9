"""Draws a table or figure: our numbers with their spread, the published ones on top; into files, not on a screen."""

from __future__ import annotations

from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.exhibit import Exhibit, Line

_COLOURS = ("tab:red", "tab:blue", "tab:orange", "tab:cyan", "tab:purple", "tab:green")
_INCHES = (5.6, 3.9)
_LABEL_LETTERS = 18
_GROUP = 0.8
"""Total width of the bars of one column, as a share of the distance between columns."""


def exhibit_figure(exhibit: Exhibit) -> Figure:
    """Return curves over numbers or bars over names; published numbers are hollow marks in the colour of their line."""
    figure = Figure(figsize=_INCHES, dpi=150, layout="constrained")
    axes = figure.subplots()
    if all(isinstance(x, float | int) for x in exhibit.columns):
        _draw_curves(axes, exhibit)
    else:
        _draw_bars(axes, exhibit)
    axes.set_xlabel(exhibit.axis)
    axes.set_ylabel(exhibit.quantity)
    axes.grid(alpha=0.3)
    axes.set_title(f"{exhibit.reproduces}, {exhibit.backend}", fontsize="medium")
    figure.legend(loc="outside lower center", ncols=2, fontsize="small")
    return figure


def _draw_curves(axes: Axes, exhibit: Exhibit) -> None:
    bounds = [
        (float(p.x), p.value) for line in exhibit.lines for p in line.points if p.at_least and p.value is not None
    ]
    if bounds:
        x, value = [bound[0] for bound in bounds], [bound[1] for bound in bounds]
        axes.plot(x, value, "k^", markersize=9, markerfacecolor="none", label="at least: not all runs settled")
    for number, line in enumerate(exhibit.lines):
        colour = _COLOURS[number % len(_COLOURS)]
        known = [(float(p.x), p.value, p.low, p.high) for p in line.points if p.value is not None]
        x, value = [point[0] for point in known], [point[1] for point in known]
        if known:
            axes.plot(x, value, color=colour, marker="o", markersize=4, label=f"{line.label}, here")
            axes.fill_between(x, [p[2] or 0.0 for p in known], [p[3] or 0.0 for p in known], color=colour, alpha=0.12)
        published = [(float(p.x), p.published) for p in line.points if p.published is not None]
        if published:
            x, numbers = [point[0] for point in published], [point[1] for point in published]
            axes.plot(x, numbers, "D:", color=colour, markerfacecolor="none", label=f"{line.label}, published")


def _draw_bars(axes: Axes, exhibit: Exhibit) -> None:
    columns = exhibit.columns
    width = _GROUP / len(exhibit.lines)
    for number, line in enumerate(exhibit.lines):
        offset = (number - (len(exhibit.lines) - 1) / 2) * width
        _draw_bars_of(axes, line, {x: at + offset for at, x in enumerate(columns)}, width, _COLOURS[number % 6])
    axes.set_xticks(range(len(columns)), [fill(str(x), _LABEL_LETTERS) for x in columns])


def _draw_bars_of(axes: Axes, line: Line, places: dict[float | str, float], width: float, colour: str) -> None:
    own = [point for point in line.points if point.value is not None]
    values = [point.value or 0.0 for point in own]
    below = [value - (point.low or 0.0) for value, point in zip(values, own, strict=True)]
    above = [(point.high or 0.0) - value for value, point in zip(values, own, strict=True)]
    spread = [below, above] if any(below) or any(above) else None
    at = [places[point.x] for point in own]
    axes.bar(at, values, width, yerr=spread, color=colour, alpha=0.75, label=f"{line.label}, here")
    published = [(places[point.x], point.published) for point in line.points if point.published is not None]
    if published:
        x, numbers = [point[0] for point in published], [point[1] for point in published]
        axes.plot(x, numbers, "kD", markerfacecolor="none", label=f"{line.label}, published")
