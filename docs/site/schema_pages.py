"""The reference of the JSON Schemas: a page with the properties of each, and the file itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LONGEST_CHOICE = 12

SKIPPED = ("build", ".venv", "results", "tests")


def schemas_of(root: Path) -> list[Path]:
    """Return the schemas that the packages ship."""
    found = sorted(root.glob("*/**/*.schema.json"))
    return [file for file in found if file.relative_to(root).parts[0] not in SKIPPED]


def schemas_page(schemas: list[Path]) -> str:
    """Return the page; the files are expected beside it."""
    lines = [
        "# JSON Schemas",
        "",
        "Schemas (draft 2020-12) of the files that Kuijia reads and writes. An editor that knows JSON Schema completes",
        "and checks such a file while it is written.",
    ]
    for file in schemas:
        document = json.loads(file.read_text(encoding="utf-8"))
        name = file.name.removesuffix(".schema.json")
        lines += ["", f"## {name}", "", document.get("description") or document.get("title", ""), ""]
        if "$id" in document:
            lines += [f"`$id`: `{document['$id']}`", ""]
        lines += [f"[{file.name}]({file.name})", "", "| key | type | |", "|---|---|---|"]
        lines += _rows(document, document, "")
    return "\n".join([*lines, ""])


def _rows(document: dict[str, Any], part: dict[str, Any], path: str) -> Iterator[str]:
    part = _resolved(document, part)
    required = part.get("required", [])
    for key, value in part.get("properties", {}).items():
        resolved = {**_resolved(document, value), **{k: v for k, v in value.items() if k != "$ref"}}
        place = f"{path}{key}"
        needed = ", required" if key in required else ""
        yield f"| `{place}` | {_type(document, resolved)}{needed} | {_cell(resolved.get('description', ''))} |"
        below = _resolved(document, resolved.get("items", {}))
        if below.get("properties"):
            yield from _rows(document, below, f"{place}[].")
        elif resolved.get("properties"):
            yield from _rows(document, resolved, f"{place}.")


def _resolved(document: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Return the part that a `$ref` within the document means."""
    reference = part.get("$ref", "")
    if not reference.startswith("#/"):
        return part
    found: Any = document
    for key in reference.removeprefix("#/").split("/"):
        found = found[key]
    return dict(found)


def _type(document: dict[str, Any], part: dict[str, Any]) -> str:
    choices = part.get("enum")
    if choices and len(choices) <= _LONGEST_CHOICE:
        return " or ".join(f"`{json.dumps(each)}`" for each in choices)
    if "const" in part:
        return f"`{json.dumps(part['const'])}`"
    kind = part.get("type", "")
    if isinstance(kind, list):
        kind = " or ".join(kind)
    if kind == "array" and isinstance(part.get("items"), dict):
        inner = _resolved(document, part["items"]).get("type", "value")
        return f"array of {inner if isinstance(inner, str) else ' or '.join(inner)}"
    if not kind and (either := part.get("anyOf") or part.get("oneOf")):
        return " or ".join(dict.fromkeys(_type(document, _resolved(document, each)) for each in either))
    return kind or "value"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*").replace("<", "\\<")
