"""Tables of plain text whose columns are as wide as their widest cell, and pages of lines and such tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

if TYPE_CHECKING:
    from typing_extensions import Self

_GAP = 2
_FIRST = frozenset({0})


@dataclass(frozen=True)
class TextTable:
    """A table as text; a terminal may draw it otherwise.

    Attributes:
        rows: the cells of each row, headings first. A row may end early.
        headings: number of rows that are headings. The first of two names groups of columns: empty cells follow a name
            above the other columns of its group.
        least: minimum width of every column but the first in plain text.
        left: numbers of the columns that are aligned to the left; all others are aligned to the right.
    """

    rows: Sequence[Sequence[str]]
    headings: int = 1
    least: int = 0
    left: Collection[int] = _FIRST

    def __str__(self) -> str:
        return "\n".join(aligned(self.rows, self.least, self.left))


class Page(str):
    """Plain text that knows its tables.

    Attributes:
        parts: its lines and tables.
    """

    __slots__ = ("parts",)

    parts: tuple[str | TextTable, ...]

    @classmethod
    def of(cls, parts: Iterable[str | TextTable]) -> Self:
        kept = tuple(parts)
        page = cls("\n".join(map(str, kept)))
        page.parts = kept
        return page


def aligned(rows: Sequence[Sequence[str]], least: int = 0, left: Collection[int] = _FIRST) -> list[str]:
    """Return rows as lines with aligned columns; see `TextTable`."""
    widths = [
        max(least if column else 0, *(_width(row[column]) for row in rows if column < len(row)))
        for column in range(max(map(len, rows), default=0))
    ]
    return [_line(row, widths, left) for row in rows]


def _line(row: Sequence[str], widths: Sequence[int], left: Collection[int]) -> str:
    placed = []
    for at, (cell, width) in enumerate(zip(row, widths)):  # noqa: B905  # a row may end early
        room = " " * (width - _width(cell))
        placed.append(f"{cell}{room}" if at in left else f"{room}{cell}")
    return (" " * _GAP).join(placed).rstrip()


def _width(text: str) -> int:
    """Return the columns that a text takes: letters of East Asia take two, marks above others none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)
