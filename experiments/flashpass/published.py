"""Published numbers of the two papers, as data."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def published() -> dict[str, Any]:
    """Return all published numbers; `experiments/results/published/flashpass_credits.json` names their sources."""
    path = files("experiments.results.published") / "flashpass_credits.json"
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data
