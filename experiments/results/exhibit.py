"""One table or figure: our numbers with their spread, and the published ones; as plain data, JSON and text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from experiments.results.result import Check, check_from_json, check_to_json, refuse_fault
from kuijia_base.text_table import Page, TextTable
from kuijia_base.validation import make_validator

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator


FORMAT = "kuijia-exhibit"
VERSION = 1


@dataclass(frozen=True)
class Point:
    """One number of a line.

    Attributes:
        x: position: a number, such as the demand, or a name, such as a flow's.
        value: our number, the mean of the runs; None if it was not measured.
        low, high: the smallest and the largest of the runs.
        published: the paper's number; None if it has none.
        at_least: True if our value is a lower bound, as some run was not watched to its end.
        spread: standard deviation of the runs, if they are not listed one by one; None if unknown.
        each: the runs one by one, in the order of their seeds, if there are several.
    """

    x: float | str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    runs: int = 0
    published: float | None = None
    at_least: bool = False
    spread: float | None = None
    each: tuple[float, ...] = ()

    @classmethod
    def of(cls, x: float | str, values: Iterable[float | None], published: float | None = None) -> Point:
        """Return a point: the mean of the runs that have a value."""
        known = [value for value in values if value is not None]
        if not known:
            return cls(x, published=published)
        each = tuple(known) if len(known) > 1 else ()
        return cls(x, fmean(known), min(known), max(known), len(known), published, each=each)

    @property
    def deviation(self) -> float | None:
        """Our number minus the published one."""
        return None if self.value is None or self.published is None else self.value - self.published


@dataclass(frozen=True)
class Line:
    """Numbers that belong together, such as those of one scheme."""

    label: str
    points: tuple[Point, ...]

    @classmethod
    def of(
        cls, label: str, ours: Mapping[Any, float | None], published: Mapping[Any, float | None] = MappingProxyType({})
    ) -> Line:
        """Return a line of one number for each place, beside the published one where there is one."""
        return cls(label, tuple(Point.of(x, [value], published.get(x)) for x, value in ours.items()))

    def at(self, x: float | str) -> Point:
        """Return the point at this place, an empty one if there is none."""
        return next((point for point in self.points if point.x == x), Point(x))


@dataclass(frozen=True)
class Exhibit:
    """A table or figure of the paper.

    Attributes:
        reproduces: the paper's name for it.
        backend: backend that measured our numbers.
        axis: meaning of `x`.
        quantity: meaning of the numbers, with their unit.
        published: where the published numbers are from, None when there are none.
        remarks: definitions, and differences from the paper; whole sentences.
        mixed: True if each column has a unit of its own, named in its heading.
        logarithmic: True if the numbers span orders of magnitude.
        unjudged: True if the runs are too small to be held against published sizes.
    """

    name: str
    title: str
    reproduces: str
    backend: str
    axis: str
    quantity: str
    lines: tuple[Line, ...]
    published: str | None = None
    checks: tuple[Check, ...] = ()
    remarks: tuple[str, ...] = ()
    mixed: bool = False
    logarithmic: bool = False
    unjudged: bool = False

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def has_values(self) -> bool:
        """True if any of the numbers is ours."""
        return any(point.value is not None for line in self.lines for point in line.points)

    @property
    def columns(self) -> list[float | str]:
        """Every `x`, once."""
        return list(dict.fromkeys(point.x for line in self.lines for point in line.points))

    def line(self, label: str) -> Line:
        """Return the line with that label, an empty one if there is none."""
        return next((line for line in self.lines if line.label == label), Line(label, ()))

    def missed(self) -> Iterator[str]:
        """Return the missed checks in words."""
        return (self._words(check) for check in self.checks if not check.passed)

    def broken(self) -> Iterator[str]:
        """Return the checks by which an experiment has failed, in words; see `Check.is_broken`."""
        return (self._words(check) for check in self.checks if check.is_broken)

    def _words(self, check: Check) -> str:
        return f"{self.name} ({self.backend}): {check.name} is {check.measured:.3g}, expected {check.bar}"

    def largest_deviations(self) -> list[tuple[Line, Point]]:
        """Return the point farthest from the published one for each line that has published numbers, in their order."""
        found = []
        for line in self.lines:
            compared = [point for point in line.points if point.deviation is not None]
            if compared:
                found.append((line, max(compared, key=lambda point: abs(point.deviation or 0.0))))
        return found


def exhibit_to_json(exhibit: Exhibit) -> dict[str, Any]:
    """Return an exhibit as JSON data, with values that readers could compute from the rest."""
    data = asdict(exhibit)
    data["checks"] = [check_to_json(check) for check in exhibit.checks]
    for line, entry in zip(exhibit.lines, data["lines"], strict=True):
        for point, cell in zip(line.points, entry["points"], strict=True):
            cell["deviation"] = point.deviation
            for key, nothing in (("spread", None), ("each", ()), ("at_least", False)):
                if cell[key] == nothing:
                    del cell[key]
    for key in ("mixed", "logarithmic", "unjudged"):
        if not data[key]:
            del data[key]
    return {"format": FORMAT, "version": VERSION, **data, "passed": exhibit.passed}


def exhibit_from_json(data: object, source: str | Path) -> Exhibit:
    """Return the exhibit in JSON data; raises InputError, with `source` and the key, if there is none."""
    refuse_fault(data, _validator(), source)
    assert isinstance(data, dict), "the schema asks for an object"
    # Files of before there were checks, remarks or lower bounds say nothing of them.
    fields = {key: data[key] for key in Exhibit.__dataclass_fields__ if key in data}
    fields["lines"] = tuple(Line(each["label"], tuple(map(_point, each["points"]))) for each in data["lines"])
    fields["checks"] = tuple(map(check_from_json, data.get("checks", ())))
    fields["remarks"] = tuple(data.get("remarks", ()))
    return Exhibit(**fields)


@cache
def _validator() -> Draft202012Validator:
    text = (files("experiments.results") / "schemas" / "exhibit.schema.json").read_text(encoding="utf-8")
    return make_validator(json.loads(text))


def _point(data: dict[str, Any]) -> Point:
    fields = {key: data[key] for key in Point.__dataclass_fields__ if key in data}
    return Point(**{**fields, "each": tuple(data.get("each", ()))})


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
