"""Notes of readers on their assumptions about what a file leaves open."""

from __future__ import annotations

from collections.abc import Callable

Note = Callable[[str], None]
"""Receives one sentence, without its full stop, about an assumption."""


def unheard(_sentence: str) -> None:
    """Ignore notes: a `Note` for callers who do not need them."""


def note_hyperedge_nodes(number: int, note: Note) -> None:
    """Note the nodes with the attribute `hyperedge`: the Topology Zoo's media that several nodes share."""
    if number:
        note(
            f"{counted(number, 'node stands', 'nodes stand')} for a medium that others share (hyperedge): kept as nodes"
        )


def counted(number: int, what: str, plural: str = "") -> str:
    """Return text such as `1 link` or `2 links`; `plural` is for words whose plural is not made with an s."""
    return f"{number} {what}" if number == 1 else f"{number:,} {plural or what + 's'}"
