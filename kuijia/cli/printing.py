"""Prints what a verb found: pages as plain text, or on a terminal with tables drawn by rich, and JSON documents."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from kuijia_base.errors import InputError, one_line
from kuijia_base.progress import draws
from kuijia_base.text_table import Page, TextTable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


_FOLDED = 24
"""Characters to which a column of words may be folded where a terminal is narrow."""

_ENDLESS = 10**6
"""Characters, more than any table is wide."""


def document(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return data as a document that names its format, as `docs/schemas/output.schema.json` describes it."""
    return {"format": f"kuijia-{kind}", "version": 1, **data}


def print_json(kind: str, data: Mapping[str, Any], indent: int | None = 1) -> None:
    """Print a document as JSON: over lines, or with no indent on a single one."""
    print(json.dumps(document(kind, data), indent=indent, ensure_ascii=False, allow_nan=False), flush=True)


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
    for number, piece in enumerate(table.pieces(lambda each: _fits(each, terminal))):
        if number:
            print()
        terminal.print(_drawn(piece))


def _fits(table: TextTable, terminal: Console) -> bool:
    endless = terminal.options.update_width(_ENDLESS)
    return terminal.measure(_drawn(table, most=_FOLDED), options=endless).maximum <= terminal.width


def _drawn(table: TextTable, most: int | None = None) -> Table:
    """Return rich's table, with words in at most `most` characters."""
    from rich import box  # noqa: PLC0415  # slow to import
    from rich.table import Table  # noqa: PLC0415  # slow to import
    from rich.text import Text  # noqa: PLC0415  # slow to import

    drawn = Table(box=box.SIMPLE_HEAD if table.headings else None, show_header=table.headings > 0, show_edge=False)
    drawn.pad_edge = False
    for column in range(max(map(len, table.rows), default=0)):
        words = column in table.left
        drawn.add_column(
            Text("\n".join(row[column] for row in table.rows[: table.headings])),
            justify="left" if words else "right",
            no_wrap=not words,
            overflow="fold",
            max_width=most if words else None,
        )
    for row in table.rows[table.headings :]:
        drawn.add_row(*map(Text, row))
    return drawn


_LONGEST = 500
"""Characters of a note; the name of its source may have thousands."""

_held: ContextVar[list[str] | None] = ContextVar("_held", default=None)


def print_notes(source: str, notes: Iterable[str]) -> None:
    """Print an assumption about an input, at once or, within `notes_held_back`, at its end."""
    lines = [one_line(f"note: {source}: {note}", _LONGEST) for note in notes]
    held = _held.get()
    if held is None:
        _print(lines)
    else:
        held += [line for line in dict.fromkeys(lines) if line not in held]  # a file may be topology and demands


@contextmanager
def notes_held_back() -> Iterator[None]:
    """Print the notes of the block at its end, and none if it ends with an InputError."""
    held: list[str] = []
    token = _held.set(held)
    try:
        yield
    except InputError:
        held.clear()
        raise
    finally:
        _held.reset(token)
        _print(held)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr)
