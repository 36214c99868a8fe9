"""Complaints of argparse, with the name that the user may have meant."""

from __future__ import annotations

import re

from kuijia_base.suggestion import meant

_INVALID = re.compile(
    r"(?P<start>.*invalid choice: )'(?P<given>[^']*)'(?P<rest> \(choose from (?P<known>.*)\))", re.DOTALL
)


def complaint(message: str) -> str:
    """Return a message of argparse; one about an unknown name asks whether a similar one was meant."""
    found = _INVALID.fullmatch(message)
    if found is None:
        return message
    known = [name.strip().strip("'") for name in found["known"].split(",")]
    return f"{found['start']}'{found['given']}'{meant(found['given'], known)}{found['rest']}"
