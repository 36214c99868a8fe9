"""What the papers have, as data."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

LOADS = (0.1, 0.4, 0.7)
"""Moderate, heavy and extreme."""

PERCENTILES = ("20th", "50th", "average", "80th", "99th")


@cache
def published() -> dict[str, Any]:
    """All of it; `experiments/published/cqrd.json` says where it is from."""
    data: dict[str, Any] = json.loads((files("experiments.published") / "cqrd.json").read_text(encoding="utf-8"))
    return data


def value(*keys: str | int) -> float | None:
    """The number under these keys, None when there is none."""
    found: Any = published()
    for key in keys:
        if isinstance(found, dict):
            if key not in found:
                return None
            found = found[key]
        else:
            assert isinstance(key, int)
            found = found[key]
    assert found is None or isinstance(found, int | float)
    return found
