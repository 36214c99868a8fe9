"""Known names that a user may have meant by one that is not known."""

from __future__ import annotations

import unicodedata
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
    """Return what follows a complaint about an unknown name; empty if no known name is like it.

    Names that look alike may have different characters: an accented letter is one, or a letter and its accent, as the
    file system of macOS writes it (Unicode Standard Annex 15).
    """
    names = list(known)
    if not name.isascii() and len(name) <= _LONGEST_COMPARED:
        composed = unicodedata.normalize("NFC", name)
        twin = next((each for each in names if unicodedata.normalize("NFC", each) == composed), None)
        if twin is not None:
            return f" (there is {shown(twin)} in another Unicode form: {_form(name)} here, {_form(twin)} there)"
    found = similar(name, names)
    return "" if found is None else f" (did you mean {shown(found)}?)"


def _form(name: str) -> str:
    """Return the name of the Unicode form that a text is in."""
    return next((form for form in ("NFC", "NFD") if unicodedata.is_normalized(form, name)), "neither NFC nor NFD")


def unknown(name: str, known: Iterable[str]) -> str:
    """Return the complaint that a name is unknown, with a similar one if there is one."""
    return f"{quoted(name)} is unknown{meant(name, known)}"
