"""Tables of plain text whose columns are as wide as their widest cell, and pages of lines and such tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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

    def within(self, width: int) -> str:
        """Return the table as text of at most so many columns: whole if it fits, else its pieces below each other."""

        def fits(table: TextTable) -> bool:
            return all(_width(line) <= width for line in str(table).splitlines())

        return str(self) if fits(self) else "\n\n".join(map(str, self.pieces(fits)))

    def pieces(self, fits: Callable[[TextTable], bool]) -> Iterator[TextTable]:
        """Yield the table in as few pieces as fit, each beginning with the columns that tell rows apart.

        Where these leave no room for the others, pieces begin with the first column. A piece of one further column may
        be too wide.
        """
        count = max(map(len, self.rows), default=0)
        keys = self._keys(count, fits)
        piece: list[int] = []
        for column in range(keys, count):
            if piece and not fits(self._of([*range(keys), *piece, column], keys)):
                yield self._of([*range(keys), *piece], keys)
                piece = []
            piece.append(column)
        yield self._of([*range(min(keys, count)), *piece], keys)

    def _keys(self, count: int, fits: Callable[[TextTable], bool]) -> int:
        """Return the number of first columns that pieces begin with."""
        rows = self.rows[self.headings :]
        keys = next((each for each in range(1, count) if len({tuple(row[:each]) for row in rows}) == len(rows)), 1)
        if keys == 1 or all(fits(self._of([*range(keys), column], keys)) for column in range(keys, count)):
            return keys
        return 1

    def _of(self, columns: Sequence[int], keys: int) -> TextTable:
        """Return the table with these columns; the first behind `keys` names the group again that it is in."""
        rows = [
            [self._cell(number, column, is_first=position == keys) for position, column in enumerate(columns)]
            for number in range(len(self.rows))
        ]
        left = [position for position, column in enumerate(columns) if column in self.left]
        return replace(self, rows=rows, left=left)

    def _cell(self, number: int, column: int, *, is_first: bool) -> str:
        row = self.rows[number]
        if is_first and number < self.headings - 1:
            return next((row[before] for before in range(column, 0, -1) if row[before]), "")
        return row[column] if column < len(row) else ""


class Page(str):
    """Plain text that knows its tables."""

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
