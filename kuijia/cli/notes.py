"""Notes of commands on stderr, held back until it is certain that the input can be used: an error stands alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kuijia_base.errors import InputError, one_line

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
