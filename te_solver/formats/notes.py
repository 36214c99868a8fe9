"""How a reader tells what it assumed where a file leaves something open."""

from __future__ import annotations

from collections.abc import Callable

Note = Callable[[str], None]
"""Takes one sentence, without its full stop, on something that was assumed."""


def unheard(_sentence: str) -> None:
    """The `Note` of a caller who does not want to know."""


def note_hyperedge_nodes(number: int, note: Note) -> None:
    """The Topology Zoo draws a medium that several nodes share as a node with the attribute `hyperedge`."""
    if number:
        note(
            f"{counted(number, 'node stands', 'nodes stand')} for a medium that others share (hyperedge): kept as nodes"
        )


def counted(number: int, what: str, plural: str = "") -> str:
    """`1 link`, `2 links`; `plural` where an s at the end does not make it."""
    return f"{number} {what}" if number == 1 else f"{number} {plural or what + 's'}"
