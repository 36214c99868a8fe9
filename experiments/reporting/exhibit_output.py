"""Draws and writes tables and figures: text, JSON, picture; turns them into an experiment's outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from experiments.experiment import Outcome, Settings
from experiments.reporting.verdict import UNPUBLISHED, judged, judgement_of
from experiments.results.exhibit import Exhibit, Line, Point, exhibit_text, exhibit_to_json, heading
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import Look, bars, legend_below, look, new_figure, plain, write_picture
from kuijia_base.text_table import Page, TextTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_WIDTH, _HEIGHT = 5.6, 3.9
_PANEL_WIDTH, _PANEL_HEIGHT = 3.3, 2.6
_PANELS_IN_A_ROW = 3
_MOST_PANELS, _MOST_BARS = 8, 100
"""More panels, and more bars in all of them, take seconds to arrange and are too small to read."""

_NAME_INCHES = 0.24
"""Height of a name in pictures whose names stand one below the other."""

_MOST_SERIES = 8
"""Lines, ours and published, that can be followed in one panel; more are drawn in panels by the first part of their
labels."""

_MOST_NAMES, _MOST_LETTERS = 10, 110
"""Names, and letters of all names, that fit side by side below bars; more are drawn as rows."""

_MOST_TICKS = 20
"""Numbers that are written out below a logarithmic axis; of more, the powers of ten are."""

_LABEL_LETTERS, _TITLE_LETTERS = 18, 68
_GROUP = 0.8
"""Total width of the bars of one column, as a share of the distance between columns."""

_HERE, _PUBLISHED = "here", "published"
_ORIGINS = {
    "emulation": "measured on emulated switches",
    "boxes": "measured on boxes",
    "flow": "computed by the fluid model",
    "packet": "simulated packet by packet",
    "tables": "counted in the switches' tables",
}


def exhibit_figure(exhibit: Exhibit) -> Figure:
    """Return curves over numbers, else bars or, of many names, rows of marks; published numbers are hollow marks."""
    names = exhibit.columns
    if exhibit.mixed and 0 < len(names) <= _MOST_PANELS and len(names) * len(exhibit.lines) <= _MOST_BARS:
        figure = _panels_by_column(exhibit)
    elif all(isinstance(x, float | int) for x in names):
        figure = _curves(exhibit)
    elif _are_rows(exhibit):
        figure = _rows_of_marks(exhibit)
    elif len(names) == 1:
        figure = new_figure(_WIDTH, _HEIGHT)
        axes = figure.subplots()
        _draw_column(axes, exhibit, names[0])
        labels = [plain(fill(line.label, _LABEL_LETTERS)) for line in exhibit.lines]
        axes.set_xticks(range(len(labels)), labels)
        axes.set_ylabel(_wrapped(exhibit.quantity))
        legend_below(figure, axes)
    else:
        figure = new_figure(max(_WIDTH, 0.75 * len(names) + 1.5), _HEIGHT)
        axes = figure.subplots()
        _draw_bars(axes, exhibit, names)
        axes.set_xlabel(plain(exhibit.axis))
        axes.set_ylabel(_wrapped(exhibit.quantity))
        legend_below(figure, axes)
    figure.suptitle(_title(exhibit), fontsize="medium")
    for axes in figure.axes:
        axes.grid(alpha=0.3)
        axes.set_axisbelow(True)
        if exhibit.logarithmic:
            _scale(axes, exhibit)
    return figure


def _are_rows(exhibit: Exhibit) -> bool:
    """Return True if there are too many names, or too long ones, to stand side by side."""
    names = [heading(x) for x in exhibit.columns]
    return len(names) > _MOST_NAMES or sum(map(len, names)) > _MOST_LETTERS


def _scale(axes: Axes, exhibit: Exhibit) -> None:
    """Give the numbers a logarithmic axis, and the positions one too if they are numbers."""
    is_numeric = all(isinstance(x, float | int) for x in exhibit.columns)
    if is_numeric or _are_rows(exhibit):
        axes.set_xscale("log")
    if is_numeric or not _are_rows(exhibit):
        axes.set_yscale("log")
    if is_numeric:
        if len(exhibit.columns) <= _MOST_TICKS:
            axes.set_xticks([float(x) for x in exhibit.columns], [f"{x:,}" for x in exhibit.columns])
        axes.minorticks_off()


def _title(exhibit: Exhibit) -> str:
    """Return the title: the shown quantity and how its numbers were found."""
    shown = fill(f"{exhibit.title[:1].upper()}{exhibit.title[1:]}", _TITLE_LETTERS)
    return plain(f"{shown}\n({_ORIGINS.get(exhibit.backend, exhibit.backend)})")


def _curves(exhibit: Exhibit) -> Figure:
    """Return all lines in one panel or, when there are many, a panel for each group of them."""
    groups = _groups(exhibit.lines)
    if len(groups) == 1:
        figure = new_figure(_WIDTH, _HEIGHT)
        panels = [figure.subplots()]
    else:
        figure, panels = _grid(len(groups))
    for panel, (title, lines) in zip(panels, groups, strict=True):
        _draw_bounds(panel, lines)
        for position, (label, line) in enumerate(lines):
            _draw_curve(panel, line, label, look(position))
        if title:
            panel.set_title(plain(title), fontsize="small")
            panel.legend(fontsize="x-small", frameon=False)
    if len(groups) == 1:
        panels[0].set_xlabel(plain(exhibit.axis))
        panels[0].set_ylabel(_wrapped(exhibit.quantity))
        legend_below(figure, panels[0], most=2)
    else:
        figure.supxlabel(plain(exhibit.axis), fontsize="medium")
        figure.supylabel(_wrapped(exhibit.quantity), fontsize="medium")
    return figure


def _groups(lines: Sequence[Line]) -> list[tuple[str, list[tuple[str, Line]]]]:
    """Return the panels: title and labelled lines; one without a title when all lines fit into it."""
    published = sum(any(point.published is not None for point in line.points) for line in lines)
    if len(lines) + published <= _MOST_SERIES:
        return [("", [(line.label, line) for line in lines])]
    found: dict[str, list[tuple[str, Line]]] = {}
    for line in lines:
        group, _, rest = line.label.partition(", ")
        found.setdefault(group, []).append((rest or group, line))
    if len(found) == len(lines) or len(found) > _MOST_PANELS:
        return [("", [(line.label, line) for line in lines])]
    return list(found.items())


def _draw_bounds(axes: Axes, lines: Sequence[tuple[str, Line]]) -> None:
    known = [(p.x, p.value) for _, line in lines for p in line.points if p.at_least and p.value is not None]
    if known:
        x, value = [float(x) for x, _ in known], [value for _, value in known]
        axes.plot(x, value, "k^", markersize=9, markerfacecolor="none", label="at least: not all runs settled")


def _draw_curve(axes: Axes, line: Line, label: str, how: Look) -> None:
    known = [(float(p.x), p.value, *_ends(p)) for p in line.points if p.value is not None]
    if known:
        x, value, low, high = zip(*known, strict=True)
        shown = plain(f"{label}, {_HERE}")
        axes.plot(x, value, color=how.colour, linestyle=how.dashes, marker=how.mark, markersize=4, label=shown)
        axes.fill_between(x, low, high, color=how.colour, alpha=0.12)
    published = [(float(p.x), p.published) for p in line.points if p.published is not None]
    if published:
        x, numbers = zip(*published, strict=True)
        label = plain(f"{label}, {_PUBLISHED}")
        axes.plot(x, numbers, color=how.colour, linestyle=":", marker=how.mark, markerfacecolor="none", label=label)


def _ends(point: Point) -> tuple[float, float]:
    """Return the lowest and highest run, or a standard deviation to either side; the value itself if neither is known.

    Raises:
        ValueError: the point has no value.
    """
    if point.value is None:
        raise ValueError("a point without a value has no spread")
    if point.low is not None and point.high is not None:
        return point.low, point.high
    return point.value - (point.spread or 0.0), point.value + (point.spread or 0.0)


def _draw_bars(axes: Axes, exhibit: Exhibit, names: Sequence[float | str]) -> None:
    width = _GROUP / len(exhibit.lines)
    for number, line in enumerate(exhibit.lines):
        offset = (number - (len(exhibit.lines) - 1) / 2) * width
        how = look(number)
        _draw_bars_of(axes, line, {x: at + offset for at, x in enumerate(names)}, width, how)
    axes.set_xticks(range(len(names)), [plain(fill(heading(x), _LABEL_LETTERS)) for x in names])


def _draw_bars_of(axes: Axes, line: Line, places: Mapping[float | str, float], width: float, how: Look) -> None:
    own = [(places[p.x], p.value, *_ends(p)) for p in line.points if p.value is not None]
    if own:
        at, values, low, high = zip(*own, strict=True)
        # The mean of equal numbers may be off by its rounding, and matplotlib draws no spread below zero.
        below = [max(0.0, value - end) for value, end in zip(values, low, strict=True)]
        above = [max(0.0, end - value) for value, end in zip(values, high, strict=True)]
        spread = [below, above] if any(below) or any(above) else None
        bars(axes, at, values, width, how, plain(f"{line.label}, {_HERE}"), spread)
    published = [(places[p.x], p.published) for p in line.points if p.published is not None]
    if published:
        x, numbers = zip(*published, strict=True)
        # One entry in the legend is enough: a mark stands at its own bar.
        label = "_nolegend_" if _PUBLISHED in axes.get_legend_handles_labels()[1] else _PUBLISHED
        axes.plot(x, numbers, "kD", markerfacecolor="white", label=label, zorder=3)


def _panels_by_column(exhibit: Exhibit) -> Figure:
    """Return a panel for each column, which has a unit of its own, with a bar for each line."""
    figure, panels = _grid(len(exhibit.columns), share=False)
    for panel, x in zip(panels, exhibit.columns, strict=True):
        _draw_column(panel, exhibit, x)
        panel.set_xticks([])
        panel.set_title(plain(heading(x)), fontsize="small")
    legend_below(figure, panels[0], most=3)
    return figure


def _draw_column(axes: Axes, exhibit: Exhibit, x: float | str) -> None:
    """Draw the numbers of one column, a bar for each line."""
    for place, line in enumerate(exhibit.lines):
        _draw_bars_of(axes, Line(line.label, (line.at(x),)), {x: place}, _GROUP, look(place))


def _wrapped(label: str) -> str:
    return plain(fill(label, _LABEL_LETTERS * 2))


def _rows_of_marks(exhibit: Exhibit) -> Figure:
    """Return a row for each name with a mark for each line, as many names cannot stand side by side."""
    names = exhibit.columns
    figure = new_figure(_WIDTH + 1.4, _NAME_INCHES * len(names) + 1.8)
    axes = figure.subplots()
    at = {x: place for place, x in enumerate(names)}
    for position, line in enumerate(exhibit.lines):
        how = look(position)
        own = [(p.value, at[p.x]) for p in line.points if p.value is not None]
        if own:
            x, y = zip(*own, strict=True)
            label = plain(f"{line.label}, {_HERE}")
            axes.plot(x, y, linestyle="", marker=how.mark, color=how.colour, markersize=5, label=label)
        published = [(p.published, at[p.x]) for p in line.points if p.published is not None]
        if published:
            x, y = zip(*published, strict=True)
            label = plain(f"{line.label}, {_PUBLISHED}")
            axes.plot(
                x, y, linestyle="", marker=how.mark, color=how.colour, markersize=8, markerfacecolor="none", label=label
            )
    axes.set_yticks(range(len(names)), [plain(heading(x)) for x in names], fontsize="small")
    axes.invert_yaxis()
    axes.set_xlabel(plain(exhibit.quantity))
    legend_below(figure, axes, most=2)
    return figure


def _grid(count: int, *, share: bool = True) -> tuple[Figure, list[Axes]]:
    """Return a figure of as many panels, in rows."""
    columns = 2 if count == 2 * 2 else min(count, _PANELS_IN_A_ROW)
    down = -(-count // columns)
    figure = new_figure(_PANEL_WIDTH * columns, _PANEL_HEIGHT * down + 1.0)
    panels = list(figure.subplots(down, columns, sharex=share, sharey=share, squeeze=False).ravel())
    for unused in panels[count:]:
        figure.delaxes(unused)
    return figure, panels[:count]


def write_exhibits(
    experiment: str, exhibits: Sequence[Exhibit], settings: Settings, output: OutputFolder, failures: Iterable[str] = ()
) -> Outcome:
    """Write `NAME.json`, `NAME.txt` and `NAME.svg` of each exhibit and return the outcome.

    The outcome's `broken` lists, in words, `failures`, which are measurements that failed, and the orders, limits and
    promises of the exhibits that do not hold.
    """
    exhibits = [judged(exhibit) for exhibit in exhibits]
    for exhibit in exhibits:
        output.write_json(f"{exhibit.name}.json", exhibit_to_json(exhibit))
        output.write_text(f"{exhibit.name}.txt", f"{_exhibit_text(exhibit)}\n")
        _write_picture(exhibit, output)
    broken = _broken(exhibits, failures)
    summary: dict[str, object] = {
        "experiment": experiment,
        "backend": settings.backend,
        "passed": not broken,
        "broken": list(broken),
        "missed": [words for exhibit in exhibits for words in exhibit.missed()],
        "exhibits": [exhibit_to_json(exhibit) for exhibit in exhibits],
    }
    return Outcome(_text(exhibits), summary, broken)


def write_tables(
    experiment: str,
    data: Mapping[str, object],
    exhibits: Sequence[Exhibit],
    output: OutputFolder,
    failures: Iterable[str] = (),
    *,
    with_json: bool = False,
) -> Outcome:
    """Write `EXPERIMENT.txt` with all tables, and a picture of each exhibit; `with_json` its `NAME.json` as well.

    If the data say whether the experiment passed, that is as its exit status says it.
    """
    exhibits = [judged(exhibit) for exhibit in exhibits]
    text = _text(exhibits)
    output.write_text(f"{experiment}.txt", f"{text}\n")
    for exhibit in exhibits:
        if with_json:
            output.write_json(f"{exhibit.name}.json", exhibit_to_json(exhibit))
        _write_picture(exhibit, output)
    broken = _broken(exhibits, failures)
    passed = {"passed": not broken} if "passed" in data else {}
    return Outcome(text, {**data, **passed}, broken)


def _text(exhibits: Sequence[Exhibit]) -> Page:
    parts: list[str | TextTable] = []
    for exhibit in exhibits:
        parts += ["", ""] if parts else []
        parts += _exhibit_text(exhibit).parts
    return Page.of(parts)


def _exhibit_text(exhibit: Exhibit) -> Page:
    found = judgement_of(exhibit)
    if found.verdict is UNPUBLISHED:
        return exhibit_text(exhibit)
    within = f", {found.score.counted} numbers within {found.margin}" if found.score.numbers else ""
    why = f" ({found.cause})" if found.cause else ""
    told = f": {found.what}, {found.ours}, published {found.published}" if found.deviation else ""
    if not told and found.what:
        told = f": {found.what}{f', {found.ours}, expected {found.published}' if found.ours else ''}"
    return Page.of([*exhibit_text(exhibit).parts, "", f"Verdict: {found.verdict}{within}{told}{why}"])


def _broken(exhibits: Sequence[Exhibit], failures: Iterable[str]) -> tuple[str, ...]:
    return (*failures, *(words for exhibit in exhibits for words in exhibit.broken()))


def _write_picture(exhibit: Exhibit, output: OutputFolder) -> None:
    write_picture(output, f"{exhibit.name}.svg", lambda: exhibit_figure(exhibit))
