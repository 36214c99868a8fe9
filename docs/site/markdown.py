"""What is in a Markdown page, as GitHub reads it: links, headings and the anchors that headings get."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

FENCE = re.compile(r"^( *)(```+|~~~+)([^\n`]*)$")
_LINK = re.compile(r"(?<!\\)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+(?:\([^()\s]*\)[^()\s]*)*)\)")
_CODE = re.compile(r"(?P<ticks>`+)(?!`)(?:(?!\n\n).)+?(?<!`)(?P=ticks)(?!`)", re.DOTALL)
_CODE_OR_COMMENT = re.compile(rf"(?P<code>{_CODE.pattern})|<!--.*?-->", re.DOTALL)
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_ID = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")


@dataclass(frozen=True)
class Heading:
    """A heading with its level, from 1, and the anchor that GitHub gives it."""

    level: int
    text: str
    anchor: str


def without_fences(page: str) -> str:
    """Return the page with empty lines in the place of fenced blocks and comments."""
    kept: list[str] = []
    fence = ""
    for line in page.split("\n"):
        found = FENCE.match(line)
        if not fence and found:
            fence = found[2]
            kept.append("")
        elif fence:
            if found and found[2].startswith(fence) and not found[3].strip():
                fence = ""
            kept.append("")
        else:
            kept.append(line)
    return _CODE_OR_COMMENT.sub(
        lambda match: match[0] if match["code"] else "\n" * match[0].count("\n"), "\n".join(kept)
    )


def links_of(page: str) -> Iterator[tuple[int, str]]:
    """Yield the targets of links and pictures with the numbers of their lines."""
    text = _CODE.sub(lambda match: " " * len(match[0]), without_fences(page))
    for found in _LINK.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found["target"]
        for inner in _LINK.finditer(found["text"]):
            yield text.count("\n", 0, found.start()) + 1, inner["target"]


def headings_of(page: str) -> Iterator[Heading]:
    """Yield the headings of a page."""
    taken: dict[str, int] = {}
    for line in without_fences(page).split("\n"):
        found = _HEADING.match(line)
        if found:
            slug = slug_of(found[2])
            repeated = taken.get(slug, 0)
            taken[slug] = repeated + 1
            yield Heading(len(found[1]), found[2], f"{slug}-{repeated}" if repeated else slug)


def slug_of(heading: str) -> str:
    """Return the anchor that GitHub gives the first heading of this text."""
    text = _LINK.sub(lambda found: found["text"], heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(page: str) -> set[str]:
    """Return everything that a link with `#` may name in a page."""
    return {heading.anchor for heading in headings_of(page)} | set(_ID.findall(without_fences(page)))


def with_links(page: str, change: dict[str, str]) -> str:
    """Return the page with other targets for some of its links; code is left alone."""
    fence = ""
    kept: list[str] = []
    for line in page.split("\n"):
        found = FENCE.match(line)
        if not fence and found:
            fence = found[2]
        elif fence:
            if found and found[2].startswith(fence) and not found[3].strip():
                fence = ""
        else:
            kept.append(re.sub(r"\]\(([^()\s]+)\)", lambda match: f"]({change.get(match[1], match[1])})", line))
            continue
        kept.append(line)
    return "\n".join(kept)
