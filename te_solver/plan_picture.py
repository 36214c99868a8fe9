"""Picture of a plan: the network with the utilisation of every link, drawn into a file, never on a screen."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from kuijia_base.picture_file import picture_bytes, plain
from kuijia_base.quantities import rate_of
from te_solver.layout import Positions, laid_out
from te_solver.plan import Plan
from te_solver.topology import Link

_NAMED_NODES = 150
"""Networks with more have dots, and the names for which there is room."""

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

_NAME_POINTS, _LETTER_TO_HEIGHT = 6.0, 0.62

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
    positions = laid_out(plan.topology, seed)
    width = float(np.clip(2.4 * len(positions) ** 0.5, 7, 18))
    height = width * max(y for _, y in positions.values()) - width * min(y for _, y in positions.values())
    figure = Figure(figsize=(width, height + _FURNITURE_INCHES), dpi=150, layout="constrained")
    larger = max(1.0, width / _PLAIN_INCHES)
    figure.suptitle(_title(plan), fontsize=_TITLE_POINTS * larger)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.margins(0.06)
    finer = max(1.0, len(positions) / _COARSE_NODES) ** 0.5
    _draw_links(axes, plan, positions, _LINE_POINTS / finer, _APART_INCHES / finer / width)
    figure.axes[-1].xaxis.label.set_fontsize(_CAPTION_POINTS * larger)
    figure.axes[-1].tick_params(labelsize=_CAPTION_POINTS * larger)
    if len(positions) > _NAMED_NODES:
        _draw_dots(axes, plan, positions, width)
    else:
        _draw_nodes(axes, positions)
    return figure


def _title(plan: Plan) -> str:
    demand = sum(pair.demand for pair in plan.pairs)
    allocated = sum(pair.allocated for pair in plan.pairs)
    return plain(f"{plan.topology.name}, {plan.objective}: {rate_of(allocated, demand)}")


def _draw_links(axes: Axes, plan: Plan, positions: Positions, thickness: float, apart: float) -> None:
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
        for line, share in zip(lines[used], utilisation[used], strict=True):
            _label(axes, line, f"{share:.0%}")


def _beside(link: Link, positions: Positions, offset: float) -> NDArray[np.float64]:
    """Return the line of a link, moved to the right of its direction."""
    start, end = positions[link.source], positions[link.target]
    along = end - start
    length = float(np.hypot(*along)) or 1.0
    right = np.array([along[1], -along[0]]) / length
    return np.array([start, end]) + offset * right


def _label(axes: Axes, line: NDArray[np.float64], text: str) -> None:
    """Label a line before its middle, so that the labels of both directions stay apart."""
    x, y = line[0] + (line[1] - line[0]) * 0.38
    box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    axes.text(x, y, text, fontsize=6, ha="center", va="center", bbox=box, zorder=3)


def _draw_nodes(axes: Axes, positions: Positions) -> None:
    box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "black"}
    for name, (x, y) in positions.items():
        axes.text(x, y, plain(_short(name)), fontsize=7, ha="center", va="center", bbox=box, zorder=4)
    axes.update_datalim(list(positions.values()))


def _draw_dots(axes: Axes, plan: Plan, positions: Positions, width: float) -> None:
    """Draw nodes as dots, with the names that cover no other one; nodes with many links come first."""
    x, y = np.array(list(positions.values())).T
    axes.scatter(x, y, s=6, color="black", zorder=4)
    height = 1.5 * _NAME_POINTS / 72 / width
    taken: list[tuple[float, float, float]] = []
    for name in sorted(positions, key=lambda name: -len(plan.topology.neighbours[name])):
        at, shown = positions[name], _short(name)
        half = len(shown) * _NAME_POINTS * _LETTER_TO_HEIGHT / 72 / width / 2
        if any(abs(at[0] - column) < half + other and abs(at[1] - row) < height for column, row, other in taken):
            continue
        taken.append((at[0], at[1], half))
        axes.annotate(
            plain(shown),
            (at[0], at[1]),
            (0, 3),
            textcoords="offset points",
            fontsize=_NAME_POINTS,
            ha="center",
            zorder=5,
        )


def _short(name: str) -> str:
    return name if len(name) <= _SHOWN_CHARACTERS else f"{name[: _SHOWN_CHARACTERS - 1]}…"
