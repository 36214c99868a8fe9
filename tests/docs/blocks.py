"""Fenced blocks of code in Markdown pages, and code that is indented instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from docs.site.markdown import FENCE, without_fences

_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of code.

    Attributes:
        line: number of its first line, from 1, which opens the fence.
        language: first word behind the fence; empty for none.
        text: its lines, without the indentation of the fence.
        mark: comment in the line above, without `<!--` and `-->`; empty for none.
    """

    line: int
    language: str
    text: str
    mark: str


def blocks_of(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    lines = page.split("\n")
    opened: tuple[int, re.Match[str]] | None = None
    for number, line in enumerate(lines):
        found = FENCE.match(line)
        if opened is None:
            opened = (number, found) if found else None
            continue
        start, fence = opened
        if found and found[2].startswith(fence[2]) and not found[3].strip():
            indent = len(fence[1])
            text = "".join(f"{each[indent:]}\n" for each in lines[start + 1 : number])
            yield Block(start + 1, fence[3].strip().partition(" ")[0], text, _mark_above(lines[:start]))
            opened = None


def _mark_above(lines: list[str]) -> str:
    """Return the comment that ends in the last line, blank lines left out."""
    above = "\n".join(lines).rstrip()
    if not above.endswith("-->"):
        return ""
    return " ".join(_COMMENT.findall(above[above.rindex("<!--") :])[0].split())


def indented_blocks(page: str) -> Iterator[int]:
    """Yield the line numbers at which code begins that is indented instead of fenced."""
    before, inside_list = "", False
    for number, line in enumerate(without_fences(page).split("\n"), start=1):
        if re.match(r"\s*([-*+]|\d+\.)\s", line):
            inside_list = True
        elif line and not line.startswith(" "):
            inside_list = False
        if line.startswith("    ") and not before.strip() and not inside_list:
            yield number
            before = line
        elif not (line.startswith("    ") and before.startswith("    ")):
            before = line
