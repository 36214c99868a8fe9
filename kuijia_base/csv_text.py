"""Tables as CSV for other programs: text from outside is never a formula there."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of cells that spreadsheets compute; an apostrophe before them makes a cell text."""


def csv_text(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return the text of a CSV file; numbers keep all digits, text that a spreadsheet would compute gets an apostrophe.

    A name such as `=HYPERLINK(...)` may come from somebody else's file, and the reader of the table trusts us.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(map(_inert, row) for row in rows)
    return text.getvalue()


def _inert(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and len(cell) > 1 and cell.startswith(_FORMULA) else cell
