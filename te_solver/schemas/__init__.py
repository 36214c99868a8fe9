"""JSON Schemas of the files that the project writes and reads."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of this name, such as `plan`; raises FileNotFoundError if unknown."""
    document: dict[str, Any] = json.loads(files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8"))
    return document
