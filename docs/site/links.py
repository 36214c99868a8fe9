"""Checks the links of the built site without a network."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """The ids of a page, and all that it refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: dict[str, None] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if not value:
                continue
            if name == "id" or (name == "name" and tag == "a"):
                self.ids.add(value)
            elif name == "src" or (name == "href" and tag in {"a", "link"}):
                self.targets[value] = None


def broken_in_site(site: Path) -> Iterator[str]:
    """Yield a line for each link of a built page to a file or id that the site lacks."""
    pages = {page.resolve(): _parsed(page) for page in sorted(site.rglob("*.html")) if "_downloads" not in page.parts}
    for page, found in pages.items():
        for target in found.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = page if not parts.path else (page.parent / unquote(parts.path)).resolve()
            where = f"{page.relative_to(site.resolve())}: {target}"
            if not file.exists():
                yield f"{where} does not exist"
            elif parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].ids:
                yield f"{where}: no such id"


def _parsed(page: Path) -> _Page:
    parsed = _Page()
    parsed.feed(page.read_text(encoding="utf-8"))
    return parsed
