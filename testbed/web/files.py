"""The files of the page, read once and served from memory with their types and hashes; pure but for the reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

PAGE = Path(__file__).with_name("page")

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True)
class PageFile:
    """A file of the page: its bytes, its type and its hash in quotes, as HTTP wants it."""

    body: bytes
    media_type: str
    tag: str

    @classmethod
    def of(cls, body: bytes, media_type: str) -> PageFile:
        return cls(body, media_type, f'"{sha256(body).hexdigest()[:32]}"')


def page_files(folder: Path = PAGE) -> Mapping[str, PageFile]:
    """Return the files of a folder by their paths in addresses; `/` is index.html."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            media_type = _TYPES.get(path.suffix, "text/plain; charset=utf-8")
            found[f"/{path.relative_to(folder).as_posix()}"] = PageFile.of(path.read_bytes(), media_type)
    if "/index.html" in found:
        found["/"] = found["/index.html"]
    return found
