"""Picture of a plan: the network with the utilisation of every link, drawn into a file, never on a screen."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from kuijia_base.picture_file import picture_bytes, plain
from kuijia_base.quantities import rate_of
from te_solver.model.plan import Plan
from te_solver.model.topology import Link
from te_solver.pictures.layout import Point, Positions, TakenArea, fit_in_place, mapped, places_beside

_LINED_NODES = 150
"""Networks with more have no lines from names to nodes, only the names for which there is room beside them."""

_LEAST_WIDTH = 5.0
"""Width in inches of the picture of a network that is much higher than wide."""

_SHOWN_CHARACTERS = 14
_LABELLED_LINKS = 80
_COLOURS = ListedColormap(mpl.colormaps["YlOrRd"](np.linspace(0.25, 1, 256)))
_UNUSED = "0.85"

_FURNITURE_INCHES = 1.2
"""Height of title and colour scale beside the network."""

_APART_INCHES = 0.12
"""Distance between the lines of both directions."""

_LINE_POINTS = 5.0
"""Width of the line of the largest capacity."""

_PLAIN_INCHES, _TITLE_POINTS, _CAPTION_POINTS = 9.0, 12.0, 8.0
"""Words grow with a picture that is wider than this."""

_NAME_POINTS, _BOXED_POINTS, _LETTER_TO_HEIGHT, _LINE_TO_LETTERS = 6.0, 7.0, 0.62, 1.5
_PAD_INCHES = 0.07
"""Space around a name in a box."""

_DOT_INCHES = 0.06

_ALONG = (0.38, 0.3, 0.46, 0.22, 0.54)
"""Places of a link's label as shares of its length, the best first: labels of both directions stay apart."""

_ARROW = 0.72
"""Place of a link's arrow, past its label and before the box of the node that it leads to."""

_COARSE_NODES = 50
"""Nodes above which lines are drawn finer."""


def plan_picture(plan: Plan, suffix: str, seed: int = 1) -> bytes:
    """Return the content of a picture file with this suffix, such as ".svg"; `seed` is for random node positions.

    Letters that the font lacks are drawn as boxes.

    Raises:
        ValueError: matplotlib does not know the suffix.
    """
    return picture_bytes(plan_figure(plan, seed), suffix)


def plan_figure(plan: Plan, seed: int = 1) -> Figure:
    """Draw every link as a line on the right-hand side of its direction, coloured by utilisation."""
    positions = mapped(plan.topology, seed)
    scale = float(np.clip(2.4 * len(positions) ** 0.5, 7, 18))
    wide, high = scale * np.ptp(np.array(list(positions.values())), axis=0)
    width = max(_LEAST_WIDTH, float(wide))
    figure = Figure(figsize=(width, float(high) + _FURNITURE_INCHES), dpi=150, layout="constrained")
    larger = max(1.0, width / _PLAIN_INCHES)
    figure.suptitle(_title(plan), fontsize=_TITLE_POINTS * larger)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.margins(0.06)
    finer = max(1.0, len(positions) / _COARSE_NODES) ** 0.5
    room = TakenArea()
    _draw_nodes(axes, plan, positions, scale, room)
    _draw_links(axes, plan, positions, _LINE_POINTS / finer, _APART_INCHES / finer / scale, (room, scale))
    figure.axes[-1].xaxis.label.set_fontsize(_CAPTION_POINTS * larger)
    figure.axes[-1].tick_params(labelsize=_CAPTION_POINTS * larger)
    return figure


def _title(plan: Plan) -> str:
    return plain(f"{plan.topology.name}, {plan.objective}: {rate_of(plan.allocated, plan.demand)}")


def _draw_links(
    axes: Axes, plan: Plan, positions: Positions, thickness: float, apart: float, free: tuple[TakenArea, float]
) -> None:
    """Draw the links, and the utilisations for which there is room, the highest first."""
    links = plan.topology.links
    loads = np.array([plan.link_loads[link.ends] for link in links])
    capacity = np.array([link.capacity for link in links])
    utilisation = loads / capacity
    lines = np.array([_beside(link, positions, apart / 2) for link in links])
    used = loads > 0
    widths = thickness * (capacity / capacity.max()) ** 0.25
    axes.add_collection(LineCollection(list(lines[~used]), colors=_UNUSED, linewidths=widths[~used] * 0.7))
    coloured = LineCollection(list(lines[used]), array=utilisation[used], cmap=_COLOURS, linewidths=widths[used])
    coloured.set_clim(0, max(1.0, utilisation.max()))
    axes.add_collection(coloured)
    what = "share of a link's capacity set aside" if plan.protected_failures else "utilisation of a link"
    figure = axes.get_figure(root=True)
    assert figure is not None, "the axes are part of the figure"
    bar = figure.colorbar(
        coloured, ax=axes, orientation="horizontal", shrink=0.5, aspect=40, pad=0.02, format=PercentFormatter(1.0)
    )
    bar.set_label(f"{what}; links are drawn on the right of their direction, grey without traffic")
    if len(links) <= _LABELLED_LINKS:
        arrows = list(_arrows(lines[used], widths[used] / 72 / free[1]))
        axes.add_collection(PolyCollection(arrows, color="white", zorder=2))
        for number in np.argsort(-utilisation[used], kind="stable").tolist():
            _label(axes, lines[used][number], f"{utilisation[used][number]:.0%}", *free)


def _arrows(lines: NDArray[np.float64], width: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a triangle inside each line that points along it, shape (lines, 3, 2)."""
    along = lines[:, 1] - lines[:, 0]
    length = np.hypot(*along.T)
    ahead = along * (width / np.where(length > 0, length, 1.0))[:, np.newaxis]
    middle, aside = lines[:, 0] + _ARROW * along, ahead[:, ::-1] * (-0.4, 0.4)
    return np.stack([middle + 0.8 * ahead, middle - 0.6 * ahead + aside, middle - 0.6 * ahead - aside], axis=1)


def _beside(link: Link, positions: Positions, offset: float) -> NDArray[np.float64]:
    """Return the line of a link, moved to the right of its direction."""
    start, end = positions[link.source], positions[link.target]
    along = end - start
    length = float(np.hypot(*along)) or 1.0
    right = np.array([along[1], -along[0]]) / length
    return np.array([start, end]) + offset * right


def _label(axes: Axes, line: NDArray[np.float64], text: str, room: TakenArea, scale: float) -> None:
    """Label a line before its middle if there is room for it."""
    spots = [line[0] + (line[1] - line[0]) * along for along in _ALONG]
    width, height = _size(text, _NAME_POINTS)
    found = room.first_free([(float(x) * scale, float(y) * scale) for x, y in spots], width, height)
    if found is not None:
        box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
        x, y = found[0] / scale, found[1] / scale
        axes.text(x, y, text, fontsize=_NAME_POINTS, ha="center", va="center", bbox=box, zorder=3)


def _draw_nodes(axes: Axes, plan: Plan, positions: Positions, scale: float, room: TakenArea) -> None:
    """Draw names in boxes where the nodes are; if they would cover one another, dots with the names beside them."""
    names = list(positions)
    spots = [(float(x) * scale, float(y) * scale) for x, y in positions.values()]
    sizes = [_size(_short(name), _BOXED_POINTS) for name in names]
    widths, height = [width + 2 * _PAD_INCHES for width, _ in sizes], sizes[0][1] + 2 * _PAD_INCHES
    axes.update_datalim(list(positions.values()))
    if not fit_in_place(spots, widths, height):
        _draw_dots(axes, plan, positions, spots, scale, room)
        return
    box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "black"}
    for name, spot, width in zip(names, spots, widths, strict=True):
        room.take(spot, width, height)
        x, y = positions[name]
        axes.text(x, y, plain(_short(name)), fontsize=_BOXED_POINTS, ha="center", va="center", bbox=box, zorder=4)


def _draw_dots(axes: Axes, plan: Plan, positions: Positions, spots: list[Point], scale: float, room: TakenArea) -> None:
    """Draw nodes as dots, with the names for which there is room; nodes with many links come first."""
    names = list(positions)
    x, y = np.array(list(positions.values())).T
    axes.scatter(x, y, s=6, color="black", zorder=4)
    for spot in spots:
        room.take(spot, _DOT_INCHES, _DOT_INCHES)
    sizes = [_size(_short(name), _NAME_POINTS) for name in names]
    order = sorted(range(len(names)), key=lambda number: -len(plan.topology.neighbours[names[number]]))
    widths = [width for width, _ in sizes]
    places = places_beside(room, spots, widths, sizes[0][1], order=order, with_lines=len(names) <= _LINED_NODES)
    for name, place in zip(names, places, strict=True):
        if place is None:
            continue
        at = (place.x / scale, place.y / scale)
        if place.is_far:
            axes.plot(*zip(positions[name], at, strict=True), color="0.4", linewidth=0.4, zorder=3)
        box = {"boxstyle": "round,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.7}
        axes.text(*at, plain(_short(name)), fontsize=_NAME_POINTS, ha="center", va="center", bbox=box, zorder=5)


def _size(text: str, points: float) -> tuple[float, float]:
    """Return about the width and height of a text in inches."""
    return len(text) * points * _LETTER_TO_HEIGHT / 72, _LINE_TO_LETTERS * points / 72


def _short(name: str) -> str:
    return name if len(name) <= _SHOWN_CHARACTERS else f"{name[: _SHOWN_CHARACTERS - 1]}…"
