"""Packages that look installed: their metadata in a folder on the path, their code there or in `example`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent / "example"

_GROUP = re.compile(r'^\[project\.entry-points\."([^"]+)"\]$')
_ENTRY = re.compile(r'^([\w-]+) = "([^"]+)"$')


def install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, entries: Mapping[str, Mapping[str, str]], code: str = ""
) -> None:
    """Put a package of version 1.0 on the path: its entry points by group, and a module with some code."""
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in of.items()) for group, of in entries.items()
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    if code:
        (folder / f"{name.replace('-', '_')}.py").write_text(code, encoding="utf-8")
    if str(folder) not in sys.path:
        monkeypatch.syspath_prepend(folder)


def install_example(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the example on the path, with the entry points of its pyproject.toml."""
    install(folder, monkeypatch, "kuijia-example", entry_points_of_example())
    monkeypatch.syspath_prepend(EXAMPLE)


def entry_points_of_example() -> dict[str, dict[str, str]]:
    # Python 3.10 has no reader of TOML; the lines that count are plain.
    found: dict[str, dict[str, str]] = {}
    group = ""
    for line in (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8").splitlines():
        heading, entry = _GROUP.match(line), _ENTRY.match(line)
        if line.startswith("["):
            group = heading[1] if heading else ""
        elif group and entry:
            found.setdefault(group, {})[entry[1]] = entry[2]
    return found
