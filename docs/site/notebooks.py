"""Notebooks as pages: their words, their code, and the outputs that are stored in them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_PICTURES = {"image/png": "png", "image/svg+xml": "svg"}


@dataclass(frozen=True)
class NotebookPage:
    """A page made from a notebook, and the pictures beside it by name."""

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
