"""Reads CSV line by line; errors name the line."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.text import read_lines

Progress = Callable[[int], None]
"""Receives the number of the line that is being read."""

_LINES_BETWEEN_PROGRESS = 20_000
_MOST_COLUMNS = 1000


def no_progress(_line: int) -> None:
    """Ignore progress: a `Progress` for callers who do not need it."""


def header_error(path: Path, line: int, row: tuple[str, ...], expected: str) -> InputError:
    """Return the error for a first row that is no known header; its line is 0, and it is empty, if there is no row."""
    if not line:
        return InputError(path, "", "there is no header", expected)
    separators = {";": "semicolons", "\t": "tabs", "|": "bars"}
    by = next((word for sign, word in separators.items() if len(row) == 1 and sign in row[0]), None)
    separated = f", separated by {by}" if by else ""
    return InputError(path, line, f"found {quoted(','.join(row))}{separated}", f"the header {expected}")


def csv_rows(
    path: Path, what: str, columns: str, progress: Progress = no_progress
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the line number and cells of every line with data; a quoted cell ends on its own line.

    Empty lines and lines that start with `#` are left out, spaces around a cell do not count.

    Raises:
        InputError: the file cannot be read as `what`, or a line is no CSV, which should have been of `columns`.
    """
    for number, line in read_lines(path, what):
        if number % _LINES_BETWEEN_PROGRESS == 0:
            progress(number)
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.count(",") >= _MOST_COLUMNS:
            raise InputError(path, number, f"more than {_MOST_COLUMNS} columns", columns)
        if '"' not in line:
            yield number, tuple(cell.strip() for cell in line.split(","))
            continue
        try:
            (cells,) = csv.reader([line], strict=True, skipinitialspace=True)
        except csv.Error as error:
            raise InputError(path, number, f"malformed CSV ({error})", columns) from error
        yield number, tuple(cell.strip() for cell in cells)
