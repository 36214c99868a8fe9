"""Published numbers of the paper, as data."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def published() -> dict[str, Any]:
    """Return all published numbers; None stands for a value off the figure's scale or missing."""
    path = files("experiments.results.published") / "hermes.json"
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data
