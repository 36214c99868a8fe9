"""Known names that a user may have meant by one that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from kuijia_base.errors import quoted, shown

_MOST_COMPARED = 5_000
"""Known names among which a similar one is sought; comparing more takes seconds."""

_LONGEST_COMPARED = 100
"""Characters of a name for which a similar one is sought."""


def similar(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like `name`, whatever its case; None if none is."""
    names = list(known)
    if len(names) > _MOST_COMPARED or len(name) > _LONGEST_COMPARED:
        return None
    by_folded = {each.casefold(): each for each in reversed(names)}
    found = get_close_matches(name.casefold(), by_folded, n=1)
    return by_folded[found[0]] if found else None


def meant(name: str, known: Iterable[str]) -> str:
    """Return the question that follows a complaint about an unknown name; empty if no known name is like it."""
    found = similar(name, known)
    return "" if found is None else f" (did you mean {shown(found)}?)"


def unknown(name: str, known: Iterable[str]) -> str:
    """Return the complaint that a name is unknown, with a similar one if there is one."""
    return f"{quoted(name)} is unknown{meant(name, known)}"
