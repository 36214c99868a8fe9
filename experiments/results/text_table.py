"""Tables of plain text whose columns are as wide as what stands in them."""

from __future__ import annotations

from collections.abc import Sequence

_GAP = 2


def text_table(heading: Sequence[str], rows: Sequence[Sequence[str]], least: int = 0) -> list[str]:
    """Return the lines of a table: the first column from the left, all others to the right, none under `least` wide.

    A row may end early.
    """
    cells = [heading, *rows]
    widths = [
        max(least if column else 0, *(len(row[column]) for row in cells if column < len(row)))
        for column in range(max(map(len, cells)))
    ]
    return [_line(row, widths) for row in cells]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    placed = (cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(row, widths)))  # noqa: B905  # a row may end early
    return (" " * _GAP).join(placed).rstrip()
