"""Checks links without a network: those of the Markdown pages, and those of the built site."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from docs.site.markdown import anchors_of, links_of


def broken_links(page: Path, root: Path) -> Iterator[str]:
    """Yield a line for each link of a page to a file or heading that does not exist in the repository."""
    text = page.read_text(encoding="utf-8")
    for line, target in links_of(text):
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        file = page if not parts.path else (page.parent / unquote(parts.path)).resolve()
        where = f"{page.relative_to(root)}:{line}: {target}"
        if not file.is_relative_to(root):
            yield f"{where} leaves the repository"
        elif not file.exists():
            yield f"{where}: there is no {file.relative_to(root)}"
        elif parts.fragment and file.suffix == ".md" and parts.fragment not in _anchors(file):
            yield f"{where}: {file.relative_to(root)} has no heading #{parts.fragment}"


@cache
def _anchors(page: Path) -> frozenset[str]:
    return frozenset(anchors_of(page.read_text(encoding="utf-8")))


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
