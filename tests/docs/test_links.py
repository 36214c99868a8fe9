"""Links between pages lead to files and headings that exist, and the index names every page."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from docs.site.markdown import anchors_of, headings_of, links_of, slug_of
from docs.site.staging import pages_of, sections_of_index

ROOT = Path(__file__).parents[2]


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


@pytest.mark.parametrize("page", pages_of(ROOT), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert list(broken_links(page, ROOT)) == []


def test_the_index_names_every_page_of_the_documentation() -> None:
    listed = {page for pages in sections_of_index(ROOT).values() for page in pages}
    index = ROOT / "docs" / "README.md"
    pages = [page for page in pages_of(ROOT) if page.is_relative_to(index.parent) and page != index]
    assert [str(page.relative_to(ROOT)) for page in pages if page not in listed] == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# One heading\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](other.md#one-heading) [c](https://example.org/x.md) `[d](no.md)`\n"
        "[e](missing.md) [f](other.md#two)\n\n```text\n[g](no.md)\n```\n[h](#here) [i](../../etc)\n",
        encoding="utf-8",
    )
    found = [line.split(": ")[0].split(":")[1] + line.rpartition(": ")[2] for line in broken_links(page, tmp_path)]
    assert found == [
        "2there is no missing.md",
        "2other.md has no heading #two",
        "7page.md has no heading #here",
        "7../../etc leaves the repository",
    ]


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("See it work", "see-it-work"),
        ("Why our losses exceed the published ones", "why-our-losses-exceed-the-published-ones"),
        ("`kuijia run`: options, and more", "kuijia-run-options-and-more"),
        ("[Linked](page.md) words", "linked-words"),
        ("Größe & Maß", "größe--maß"),
    ],
)
def test_anchors_are_those_of_github(heading: str, anchor: str) -> None:
    assert slug_of(heading) == anchor


def test_a_repeated_heading_gets_a_number() -> None:
    assert [each.anchor for each in headings_of("# A\n\n## A\n")] == ["a", "a-1"]


def test_links_in_code_are_none() -> None:
    page = "a\n[b](c) `[d](e)` ![p](q.png)\n<!-- [f](g)\n -->`<!-- h -->` [i](j) `k`\n"
    assert list(links_of(page)) == [(2, "c"), (2, "q.png"), (4, "j")]
