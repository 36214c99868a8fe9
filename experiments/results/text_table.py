"""Tables of plain text whose columns are as wide as their widest cell."""

from __future__ import annotations

from collections.abc import Collection, Sequence

_GAP = 2
_FIRST = frozenset({0})


def text_table(
    heading: Sequence[str], rows: Sequence[Sequence[str]], least: int = 0, left: Collection[int] = _FIRST
) -> list[str]:
    """Return the lines of a table: a heading, then its rows; see `aligned`."""
    return aligned([heading, *rows], least, left)


def aligned(rows: Sequence[Sequence[str]], least: int = 0, left: Collection[int] = _FIRST) -> list[str]:
    """Return rows as lines with aligned columns. A row may end early.

    Args:
        rows: the cells of each row.
        least: minimum width of every column but the first.
        left: numbers of the columns that are aligned to the left; all others are aligned to the right.
    """
    widths = [
        max(least if column else 0, *(len(row[column]) for row in rows if column < len(row)))
        for column in range(max(map(len, rows), default=0))
    ]
    return [_line(row, widths, left) for row in rows]


def _line(row: Sequence[str], widths: Sequence[int], left: Collection[int]) -> str:
    placed = (
        cell.ljust(width) if at in left else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(row, widths))  # noqa: B905  # a row may end early
    )
    return (" " * _GAP).join(placed).rstrip()
