"""Prints pages: as plain text, or on a terminal with tables drawn by rich."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from experiments.results.text_table import Page, TextTable
from kuijia_base.terminal import draws

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_FOLDED = 24
"""Characters to which a column of words may be folded where a terminal is narrow."""

_ENDLESS = 10**6
"""Characters, more than any table is wide."""


def show(page: str | Iterable[str | TextTable]) -> None:
    """Print the lines and tables of a page on standard output."""
    if isinstance(page, str):
        page = page.parts if isinstance(page, Page) else [page]
    if not draws(sys.stdout):
        print("\n".join(map(str, page)))
        return
    from kuijia_base.drawing import Terminal  # noqa: PLC0415  # slow to import: rich

    terminal = Terminal(sys.stdout)
    for part in page:
        if isinstance(part, TextTable):
            _draw(part, terminal)
        else:
            print(part)


def _draw(table: TextTable, terminal: Console) -> None:
    """Draw a table; on a narrow terminal in several pieces, each with the columns that tell rows apart."""
    count = max(map(len, table.rows), default=0)
    keys = _keys(table, count, terminal)
    piece: list[int] = []
    for column in range(keys, count):
        if piece and not _fits(table, [*range(keys), *piece, column], keys, terminal):
            terminal.print(_drawn(table, [*range(keys), *piece], keys))
            print()
            piece = []
        piece.append(column)
    terminal.print(_drawn(table, [*range(min(keys, count)), *piece], keys))


def _keys(table: TextTable, count: int, terminal: Console) -> int:
    """Return the number of first columns that tell all rows apart; one if the others have no room beside them."""
    rows = table.rows[table.headings :]
    keys = next((each for each in range(1, count) if len({tuple(row[:each]) for row in rows}) == len(rows)), 1)
    if keys == 1 or all(_fits(table, [*range(keys), column], keys, terminal) for column in range(keys, count)):
        return keys
    return 1


def _fits(table: TextTable, columns: list[int], keys: int, terminal: Console) -> bool:
    endless = terminal.options.update_width(_ENDLESS)
    return terminal.measure(_drawn(table, columns, keys, most=_FOLDED), options=endless).maximum <= terminal.width


def _drawn(table: TextTable, columns: list[int], keys: int, most: int | None = None) -> Table:
    """Return these columns as rich's table, the first `keys` in every piece; words in at most `most` characters."""
    from rich import box  # noqa: PLC0415  # slow to import
    from rich.table import Table  # noqa: PLC0415  # slow to import
    from rich.text import Text  # noqa: PLC0415  # slow to import

    drawn = Table(box=box.SIMPLE_HEAD if table.headings else None, show_header=table.headings > 0, show_edge=False)
    drawn.pad_edge = False
    for position, column in enumerate(columns):
        lines = [_heading(table, number, column, is_first=position == keys) for number in range(table.headings)]
        words = column in table.left
        drawn.add_column(
            Text("\n".join(lines)),
            justify="left" if words else "right",
            no_wrap=not words,
            overflow="fold",
            max_width=most if words else None,
        )
    for row in table.rows[table.headings :]:
        drawn.add_row(*(Text(row[column]) if column < len(row) else "" for column in columns))
    return drawn


def _heading(table: TextTable, number: int, column: int, *, is_first: bool) -> str:
    """Return a cell of a heading; the first column of a piece that begins within a group names the group again."""
    row = table.rows[number]
    is_group = number < table.headings - 1
    if is_group and is_first:
        return next((row[before] for before in range(column, 0, -1) if row[before]), "")
    return row[column] if column < len(row) else ""
