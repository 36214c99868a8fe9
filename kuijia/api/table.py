"""Tables, texts and pictures that notebooks show and programs take apart; data frames, in and out."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, overload

from kuijia_base import quantities
from kuijia_base.additions import require_installed
from kuijia_base.errors import InputError, quoted, shown
from kuijia_base.progress import columns_of, draws
from kuijia_base.quantities import RATE_EXPECTED, counted, parse_rate, significant
from kuijia_base.suggestion import meant
from kuijia_base.text import csv_text, parse_number, write_bytes, write_text
from kuijia_base.text_table import Page, TextTable

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class FrameLike(Protocol):
    """The part of a data frame that is read: `pandas.DataFrame` is one."""

    @property
    def columns(self) -> Any:  # noqa: ANN401  # an index of pandas
        """The names of the columns."""

    @property
    def index(self) -> Any:  # noqa: ANN401  # an index of pandas
        """The names of the rows."""

    def itertuples(self, index: bool = ..., name: str | None = ...) -> Any:  # noqa: ANN401, FBT001  # as in pandas
        """Iterate over the rows."""


def frame_of(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> pd.DataFrame:
    """Return a data frame; raises MissingPackageError if pandas is not installed."""
    require_installed("pandas", "data frames")
    pandas = import_module("pandas")
    frame: pd.DataFrame = pandas.DataFrame([tuple(row) for row in rows], columns=list(heads))
    return frame


def is_frame(value: object) -> TypeGuard[FrameLike]:
    """Return True for a data frame; while pandas has not been imported, nothing is one."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def records(frame: FrameLike, required: Sequence[str], optional: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row's place for messages, and its cells by column; empty cells and other columns are left out.

    Names of columns may end in their unit, as in `to_frame`.

    Raises:
        InputError: a column is missing, or a cell of a required one is empty.
    """
    with_unit = {column.in_frame: column for column in (rates("capacity"), rates("rate"), seconds("delay"))}
    columns = [str(with_unit.get(column, column)) for column in map(str, frame.columns)]
    for column in (*required, *optional):
        if columns.count(column) > 1:
            raise InputError("data frame", "", f"there are {columns.count(column)} columns {column}", "one")
    for column in required:
        if column not in columns:
            wanted = ", ".join([*required, *(f"[{name}]" for name in optional)])
            raise InputError("data frame", "", f"there is no column {column}", f"the columns {wanted}")
    for number, row in enumerate(frame.itertuples(index=False, name=None)):
        place = f"row {number}"
        cells = {column: cell for column, cell in zip(columns, row, strict=True) if not is_empty(cell)}
        for column in required:
            if column not in cells:
                raise InputError("data frame", place, f"{column} is empty", "a value")
        yield place, {name: cells[name] for name in (*required, *optional) if name in cells}


_RATES = frozenset({"capacity", "rate"})
"""Columns whose numbers may have a unit."""

Node: TypeAlias = str | int | float | tuple[Any, ...]
"""A node by its name, or as networkx and pandas have it; a pair of nodes is a link."""


def name_of(node: object) -> str:
    """Return the name of a node. A whole number has no fraction: pandas makes 1.0 of 1 in a column with gaps."""
    return str(int(node)) if isinstance(node, float) and node.is_integer() else str(node)


def number_in(cells: Mapping[str, Any], column: str, place: str, source: str = "data frame") -> float | None:
    """Return the number in a cell, or in one of `_RATES` the Mbit/s of a rate such as "10G"; None if it is empty.

    Raises:
        InputError: the cell holds neither.
    """
    if column not in cells:
        return None
    cell = cells[column]
    if _is_truth_value(cell):
        cell = str(cell)  # float() would make 1 of True
    parse, expected = (parse_rate, RATE_EXPECTED) if column in _RATES else (parse_number, "a number")
    try:
        found = parse(cell) if isinstance(cell, str) else float(cell)
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None:
        raise InputError(source, place, f"{column} {quoted(str(cell))} is not a number", expected)
    return found


def is_empty(cell: object) -> bool:
    """Return True for a missing value of pandas, or None."""
    return cell is None or type(cell).__name__ == "NAType" or (isinstance(cell, float) and math.isnan(cell))


def _is_truth_value(cell: object) -> bool:
    """Return True for True and False, those of numpy too."""
    return type(cell).__name__ in {"bool", "bool_"}


SHOWN_ROWS = 20
"""Rows that a table shows of itself; all are in `rows`, `text` and the data frame."""

Show = Callable[[Any], str]


def number(value: float | None) -> str:
    """Return a number with four significant digits; nothing is a dash."""
    return "-" if value is None else significant(value)


def rate(mbits: float | None) -> str:
    """Return a rate with its unit; nothing is a dash."""
    return "-" if mbits is None else quantities.rate(mbits)


def share(value: float | None) -> str:
    """Return a share as a percentage; nothing is a dash."""
    return "-" if value is None else quantities.share(value)


class Column(str):
    """A column's heading, with the way to show its cells, and True if they are words, which stand on the left.

    `in_frame` is its name in a data frame: the heading, with the unit of its cells if they have one.
    """

    __slots__ = ("in_frame", "show", "words")
    show: Show
    words: bool
    in_frame: str

    def __new__(cls, head: str, show: Show = str, *, words: bool = False, unit: str | None = None) -> Column:
        column = super().__new__(cls, head)
        column.show, column.words, column.in_frame = show, words, f"{head}_{unit}" if unit else head
        return column


def words(head: str) -> Column:
    return Column(head, words=True)


def rates(head: str) -> Column:
    return Column(head, rate, unit="mbps")


def seconds(head: str) -> Column:
    return Column(head, number, unit="seconds")


@dataclass(frozen=True, repr=False)
class Table:
    """A result as rows of plain values; rates are Mbit/s, shares are numbers from 0 to 1.

    Attributes:
        columns: the headings.
        rows: the cells of each row.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, columns: Sequence[Column], rows: Iterable[Iterable[Any]]) -> Table:
        return cls(tuple(columns), tuple(tuple(row) for row in rows))

    @property
    def heads(self) -> tuple[str, ...]:
        return tuple(map(str, self.columns))

    def head(self, rows: int = 5) -> Table:
        """Return the table with its first rows only."""
        return replace(self, rows=self.rows[:rows])

    def tail(self, rows: int = 5) -> Table:
        """Return the table with its last rows only."""
        return replace(self, rows=self.rows[max(len(self.rows) - rows, 0) :])

    def sort(self, column: str, *, ascending: bool = False) -> Table:
        """Return the table sorted by a column, the largest first and empty cells last; raises KeyError without it."""
        place = self._place(column)

        def order(row: tuple[Any, ...]) -> tuple[bool, Any]:
            return (row[place] is None) == ascending, 0 if row[place] is None else row[place]

        return replace(self, rows=tuple(sorted(self.rows, key=order, reverse=not ascending)))

    def text(self) -> str:
        """Return the whole table as aligned text."""
        return str(self._as_text())

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame whose columns name their units; raises MissingPackageError without pandas."""
        return frame_of([column.in_frame for column in self.columns], self.rows)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the table as CSV, with the columns of `to_frame`; with a path also write it there.

        Raises:
            InputError: the file cannot be written.
        """
        return written(csv_text([column.in_frame for column in self.columns], self.rows), path)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dictionary for each row."""
        return [dict(zip(self.heads, row, strict=True)) for row in self.rows]

    @overload
    def __getitem__(self, column: str) -> tuple[Any, ...]: ...

    @overload
    def __getitem__(self, column: list[str] | slice) -> Table: ...

    def __getitem__(self, column: str | list[str] | slice) -> tuple[Any, ...] | Table:
        """Return the cells of a column, or a table of the columns in a list or the rows of a slice.

        Raises:
            KeyError: there is no such column.
        """
        if isinstance(column, slice):
            return replace(self, rows=self.rows[column])
        if isinstance(column, list):
            places = [self._place(each) for each in column]
            rows = (tuple(row[place] for place in places) for row in self.rows)
            return Table.of([self.columns[place] for place in places], rows)
        place = self._place(column)
        return tuple(row[place] for row in self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return "\n".join([_fitted(self._as_text(SHOWN_ROWS)), *self._left_out()])

    def _repr_html_(self) -> str:
        heads = "".join(f'<th style="text-align:{_side(each)}">{escape(each)}</th>' for each in self.columns)
        lines = [f"<tr>{self._html_cells(row)}</tr>" for row in self._shown(SHOWN_ROWS)]
        more = "".join(f"<p>{escape(line)}</p>" for line in self._left_out())
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"

    def _place(self, column: str) -> int:
        if column not in self.heads:
            raise KeyError(f"{column}{meant(str(column), self.heads)}")
        return self.heads.index(column)

    def _html_cells(self, row: Sequence[str]) -> str:
        return "".join(
            f'<td style="text-align:{_side(column)}">{escape(cell)}</td>'
            for column, cell in zip(self.columns, row, strict=True)
        )

    def _as_text(self, most: int | None = None) -> TextTable:
        left = [place for place, column in enumerate(self.columns) if column.words]
        return TextTable((self.heads, *self._shown(most)), left=left)

    def _shown(self, most: int | None = None) -> Iterator[list[str]]:
        for row in self.rows[:most]:
            yield [column.show(cell) for column, cell in zip(self.columns, row, strict=True)]

    def _left_out(self) -> list[str]:
        more = len(self.rows) - SHOWN_ROWS
        return [f"and {counted(more, 'row')} more"] if more > 0 else []


class Text(Page):
    """Lines for people: a notebook and the interpreter show them as lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(_fitted(part) if isinstance(part, TextTable) else part for part in self.parts)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def written(text: str, path: str | Path | None) -> str:
    """Return a text, once it is also in the file of a path, if there is one; raises InputError."""
    if path is not None:
        write_text(Path(path), text)
    return text


def html_page(title: str, facts: Sequence[str], *parts: Table) -> str:
    """Return what a notebook shows of a result: a line in bold, some facts, and tables."""
    lines = "".join(f"<br>{escape(fact)}" for fact in facts)
    return f"<p><b>{escape(title)}</b>{lines}</p>{''.join(part._repr_html_() for part in parts)}"  # ours


def _side(column: Column) -> str:
    return "left" if column.words else "right"


def _fitted(table: TextTable) -> str:
    """Return a table as text, on a terminal that is too narrow for it in several pieces."""
    stream = sys.stdout
    return table.within(columns_of(stream)) if stream is not None and draws(stream) else str(table)


SUFFIXES = (".png", ".svg", ".pdf")

_SHOWN_DPI = 80
"""Dots per inch in a notebook."""


class Picture:
    """A picture, whose `figure` is matplotlib's; no screen is needed."""

    def __init__(self, figure: Figure, title: str) -> None:
        self.figure = figure
        self.title = title

    def save(self, path: str | Path) -> Path:
        """Write the picture into a file that ends in .png, .svg or .pdf; raises InputError."""
        path = Path(path)
        if path.suffix not in SUFFIXES:
            raise InputError(path, "", f"{shown(path.suffix)} is not the suffix of a picture", ", ".join(SUFFIXES))
        write_bytes(path, self._content(path.suffix))
        return path

    def __repr__(self) -> str:
        return f"Picture({self.title!r})"

    def _repr_png_(self) -> bytes:
        return self._content(".png", _SHOWN_DPI)

    def _content(self, suffix: str, dpi: float | None = None) -> bytes:
        from kuijia_base.picture_file import picture_bytes  # noqa: PLC0415  # slow to import: matplotlib

        return picture_bytes(self.figure, suffix, dpi)
