"""Data frames of pandas, which is no requirement: only a frame that is asked for imports it."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

from kuijia_base.errors import InputError, quoted
from kuijia_base.extras import require_installed
from kuijia_base.quantities import RATE_EXPECTED, parse_rate
from kuijia_base.text import parse_number

if TYPE_CHECKING:
    import pandas as pd


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

    Raises:
        InputError: a column is missing, or a cell of a required one is empty.
    """
    columns = [str(column) for column in frame.columns]
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
