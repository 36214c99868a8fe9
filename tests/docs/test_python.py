"""The page on Python names everything that is public; another test runs its examples."""

from __future__ import annotations

import re
from pathlib import Path

import kuijia

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text(encoding="utf-8")


def test_every_function_and_error_is_named() -> None:
    named = set(re.findall(r"`(?:kuijia\.)?(\w+)", PAGE))
    functions = {name for name in kuijia.__all__ if name.islower()}
    errors = {name for name in kuijia.__all__ if name.endswith("Error")}
    assert functions | errors <= named


def test_every_method_of_a_result_that_the_page_lists_is_there() -> None:
    rows = re.findall(r"^\| `.*?\(.*?\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE)
    assert len(rows) >= 8
    for name, members in rows:
        missing = [each for each in re.findall(r"`(\w+)`", members) if each not in _members(getattr(kuijia, name))]
        assert not missing, name


def _members(kind: type) -> set[str]:
    """Return the names of methods, and of attributes by the class's own documentation."""
    return {*dir(kind), *re.findall(r"^ {8}(\w+):", kind.__doc__ or "", re.MULTILINE)}
