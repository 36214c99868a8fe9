"""Stages the pages for Sphinx: `docs/` as it is, the pages of the root beside it, links that fit the new places.

Pages are written for GitHub first. What GitHub shows and Sphinx does not know is changed here: the index is README.md,
links lead to folders and to files outside `docs/`.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from docs.site.markdown import headings_of, links_of, with_links

OWN_FOLDER = "site"
"""Folder of `docs/` that holds this code and is no part of the site."""

ROOT_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages of the repository's root that the site has too, in the folder `project`."""


@dataclass
class StagedPages:
    """The pages on their way to Sphinx.

    Attributes:
        root: of the repository.
        folder: where Sphinx reads them.
    """

    root: Path
    folder: Path
    _copied: set[Path] = field(default_factory=set)

    def fill(self) -> None:
        """Write all pages and what they link to, in the place of what was there before."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for page in pages_of(self.root):
            self._stage(page)
        index = self.folder / "index.md"
        text = index.read_text(encoding="utf-8")
        index.write_text(f"{text}\n{_toctrees(self.root)}", encoding="utf-8")

    def write(self, place: str, text: str) -> None:
        """Write a generated page."""
        file = self.folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def _stage(self, page: Path) -> None:
        text = page.read_text(encoding="utf-8")
        staged = self.place_of(page)
        change = {target: self._target(page, staged, target) for _, target in links_of(text)}
        self.write(str(staged), with_links(text, change))

    def place_of(self, file: Path) -> Path:
        """Return where a file of the repository is staged, relative to the folder."""
        relative = file.relative_to(self.root)
        if relative == Path("docs/README.md"):
            return Path("index.md")
        if relative.parts[0] == "docs":
            return Path(*relative.parts[1:])
        if str(relative) in ROOT_PAGES:
            return Path("project") / relative.name.lower()
        return Path("files") / relative

    def _target(self, page: Path, staged: Path, target: str) -> str:
        """Return a link's target as seen from the staged page; makes sure that it is there."""
        parts = urlsplit(target)
        if parts.scheme or parts.netloc or not parts.path:
            return target
        file = (page.parent / parts.path).resolve()
        place = self.place_of(file)
        if file.is_dir():
            place /= "files.md"
            self._list_folder(file, place)
        elif file.suffix == ".ipynb":
            place = place.with_suffix(".md")
            self._stage_notebook(file, place)
        elif file not in self._copied and file.suffix != ".md":
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, self.folder / place)
            self._copied.add(file)
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        return f"{os.path.relpath(place, staged.parent)}{fragment}"

    def _stage_notebook(self, notebook: Path, place: Path) -> None:
        if notebook in self._copied:
            return
        self._copied.add(notebook)
        page = notebook_page(notebook)
        self.write(str(place), page.text)
        for name, picture in page.pictures.items():
            (self.folder / place.parent / name).write_bytes(picture)

    def _list_folder(self, folder: Path, place: Path) -> None:
        """Write a page in the place of a folder, from which its files can be downloaded."""
        if folder in self._copied:
            return
        self._copied.add(folder)
        files = sorted(file for file in folder.rglob("*") if file.is_file() and file.suffix != ".md")
        lines = ["---", "orphan: true", "---", "", f"# Files of {folder.relative_to(self.root)}", ""]
        for file in files:
            (self.folder / place.parent / file.relative_to(folder)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, self.folder / place.parent / file.relative_to(folder))
            lines.append(f"- [{file.relative_to(folder)}]({file.relative_to(folder)})")
        self.write(str(place), "\n".join([*lines, ""]))


def pages_of(root: Path) -> list[Path]:
    """Return the Markdown pages of the repository that the site shows."""
    own = root / "docs" / OWN_FOLDER
    return [
        *(page for page in sorted((root / "docs").rglob("*.md")) if own not in page.parents),
        *(root / name for name in ROOT_PAGES),
    ]


def sections_of_index(root: Path) -> dict[str, list[Path]]:
    """Return the pages that each section of the index links to, each page where it is linked first."""
    index = root / "docs" / "README.md"
    text = index.read_text(encoding="utf-8")
    found: dict[str, list[Path]] = {}
    seen: set[Path] = {index}
    for part in f"\n{text}".split("\n## ")[1:]:
        pages: list[Path] = []
        for _, target in links_of(part):
            parts = urlsplit(target)
            page = (index.parent / parts.path).resolve()
            if not parts.scheme and page.suffix == ".md" and page not in seen:
                seen.add(page)
                pages.append(page)
        found[next(headings_of(f"## {part}")).text] = pages
    return found


GENERATED = {
    "Reference": ("reference/commands", "reference/api", "reference/schemas"),
}
"""Generated pages, below the section of the index that they belong to."""


def _toctrees(root: Path) -> str:
    """Return the side bar: a hidden tree for each section of the index."""
    stage = StagedPages(root, root)
    listed = sections_of_index(root)
    trees = []
    for section, pages in listed.items():
        places = [stage.place_of(page).with_suffix("").as_posix() for page in pages]
        entries = "\n".join([*GENERATED.get(section, ()), *places])
        trees.append(f"```{{toctree}}\n:hidden:\n:caption: {section}\n\n{entries}\n```\n")
    staged = {page for pages in listed.values() for page in pages} | {root / "docs" / "README.md"}
    others = [stage.place_of(page).with_suffix("").as_posix() for page in pages_of(root) if page not in staged]
    rest = "\n".join(others)
    trees.append(f"```{{toctree}}\n:hidden:\n:caption: Project\n\n{rest}\n```\n")
    return "\n".join(trees)


_PICTURES = {"image/png": "png", "image/svg+xml": "svg"}


@dataclass(frozen=True)
class NotebookPage:
    """The page of a notebook, with its pictures by file name."""

    text: str
    pictures: dict[str, bytes] = field(default_factory=dict)


def notebook_page(notebook: Path) -> NotebookPage:
    """Return the page of a notebook of format 4."""
    pictures: dict[str, bytes] = {}
    parts = ["---\norphan: true\n---"]
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = _joined(cell["source"]).strip("\n")
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and source:
            parts.append(f"```python\n{source}\n```")
            for output in cell["outputs"]:
                parts += _shown(output, notebook.stem, pictures)
    return NotebookPage("\n\n".join(parts) + "\n", pictures)


def _shown(output: dict[str, Any], stem: str, pictures: dict[str, bytes]) -> Iterator[str]:
    """Yield what an output shows, in the richest form of it that a page has."""
    if output["output_type"] == "stream":
        if output["name"] == "stdout":
            yield _as_text(_joined(output["text"]))
        return
    data = output.get("data", {})
    for kind, ending in _PICTURES.items():
        if kind in data:
            name = f"{stem}-{len(pictures) + 1}.{ending}"
            text = _joined(data[kind])
            pictures[name] = base64.b64decode(text) if ending == "png" else text.encode()
            yield f"![output]({name})"
            return
    if "text/html" in data:
        yield f"```{{raw}} html\n{_joined(data['text/html']).strip()}\n```"
    elif "text/plain" in data:
        yield _as_text(_joined(data["text/plain"]))
    elif output["output_type"] == "error":
        yield _as_text(f"{output['ename']}: {output['evalue']}")


def _as_text(text: str) -> str:
    stripped = text.strip("\n")
    return f"```text\n{stripped}\n```"


def _joined(text: str | list[str]) -> str:
    """Return a text that notebooks may store in lines."""
    return text if isinstance(text, str) else "".join(text)
