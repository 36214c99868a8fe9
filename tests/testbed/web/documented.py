"""What the page of the documentation says of backends, for tests that hold them to it."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "web.md"


def documented_actions(backend: str) -> list[str]:
    """Return the actions that the table of backends lists for one of them."""
    rows = re.findall(r"^\| (`[a-z`, ]+) \| ([a-z, ]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    (found,) = (actions for names, actions in rows if f"`{backend}`" in names)
    return sorted(found.split(", "))
