"""The table of an exhibit: cells for text, Markdown and HTML, and the whole as text; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from experiments.results.exhibit import Exhibit, Point
from experiments.results.result import Check
from kuijia_base.text_table import Page, TextTable

_LEAST_WIDTH = 7
_SMALL = 0.1
_WIDEST = 150
"""Characters; a table with wider columns has its columns as rows."""


@dataclass(frozen=True)
class Row:
    """A row of an exhibit's table: kind of its numbers, label, and a cell for each column."""

    kind: Literal["ours", "spread", "published", "difference"]
    label: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class ExhibitTable:
    """Headings of the columns after the first one, and the rows."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def table_of(exhibit: Exhibit) -> ExhibitTable:
    """Return the lines as groups of rows or, where that is too wide, every `x` as a row and the lines as columns."""
    columns = tuple(heading(x) for x in exhibit.columns)
    if sum(max(_LEAST_WIDTH, len(each)) for each in columns) <= _WIDEST:
        return ExhibitTable(columns, tuple(rows(exhibit)))
    upright = (Row("ours", heading(x), tuple(_cell(line.at(x)) for line in exhibit.lines)) for x in exhibit.columns)
    return ExhibitTable(tuple(line.label for line in exhibit.lines), tuple(upright))


def rows(exhibit: Exhibit) -> Iterator[Row]:
    """Yield rows for each line: ours, their spread, the published numbers and the differences."""
    for line in exhibit.lines:
        points = [line.at(x) for x in exhibit.columns]

        def cells(of: Callable[[Point], float | None], points: Sequence[Point] = points) -> tuple[str, ...]:
            return tuple(number(of(point)) for point in points)

        def bounded(of: Callable[[Point], float | None], points: Sequence[Point] = points) -> tuple[str, ...]:
            return tuple(_bound_text(of(point), at_least=point.at_least) for point in points)

        yield Row("ours", f"{line.label}, here", bounded(lambda point: point.value))
        if any(point.runs > 1 and point.low != point.high for point in points):
            yield Row("spread", "lowest run", cells(lambda point: point.low))
            yield Row("spread", "highest run", bounded(lambda point: point.high))
        if any(point.spread for point in points):
            yield Row("spread", "standard deviation", cells(lambda point: point.spread))
        if any(point.published is not None for point in points):
            yield Row("published", "published", cells(lambda point: point.published))
            if any(point.deviation is not None for point in points):
                yield Row("difference", "difference", bounded(lambda point: point.deviation))


def exhibit_text(exhibit: Exhibit) -> Page:
    """Return the numbers as a table, then checks and remarks."""
    table = table_of(exhibit)
    listed = [(row.label if row.kind == "ours" else f"  {row.label}", *row.cells) for row in table.rows]
    parts: list[str | TextTable] = [
        f"{exhibit.reproduces}: {exhibit.title} [{exhibit.backend}]",
        f"{exhibit.quantity}, by {exhibit.axis}{'; [published]' if _is_upright(exhibit, table) else ''}",
        "",
        TextTable((("", *table.columns), *listed), least=_LEAST_WIDTH),
    ]
    parts += ["", *check_lines(exhibit.checks)] if exhibit.checks else []
    parts += ["", *exhibit.remarks] if exhibit.remarks else []
    return Page.of(part.rstrip() if isinstance(part, str) else part for part in parts)


def check_lines(checks: Iterable[Check]) -> list[str]:
    """Return a line for each check that says whether its bar is met."""
    return [
        f"{'ok  ' if check.passed else 'MISS'}  {check.name}: {check.measured:.3g}, expected {check.bar}"
        for check in checks
    ]


def number(value: float | None) -> str:
    """Return a number with as many digits as are worth reading."""
    if value is None:
        return "-"
    size = abs(value)
    if size >= 100 or value == round(value):
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= _SMALL or value == round(value, 2) else f"{value:.3f}"


def value_text(point: Point) -> str:
    """Return our value, marked when it is a lower bound."""
    return _bound_text(point.value, at_least=point.at_least)


def heading(x: float | str) -> str:
    """Return the heading of a column."""
    return x if isinstance(x, str) else f"{x:g}"


def _cell(point: Point) -> str:
    """Return all numbers of a point in one cell, the published one in brackets."""
    spread = f" ±{number(point.spread)}" if point.spread else ""
    published = "" if point.published is None else f" [{number(point.published)}]"
    return f"{value_text(point)}{spread}{published}"


def _is_upright(exhibit: Exhibit, table: ExhibitTable) -> bool:
    return any(line.label in table.columns for line in exhibit.lines) and any(
        point.published is not None for line in exhibit.lines for point in line.points
    )


def _bound_text(value: float | None, *, at_least: bool) -> str:
    return f">= {number(value)}" if at_least and value is not None else number(value)
