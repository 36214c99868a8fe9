"""Published numbers of the papers, as data."""

from __future__ import annotations

from functools import cache
from typing import Any

from experiments.results.published import published_numbers

LOADS = (0.1, 0.4, 0.7)
"""The papers' moderate, heavy and extreme load."""

PERCENTILES = ("20th", "50th", "average", "80th", "99th")


@cache
def published() -> dict[str, Any]:
    """Return all published numbers; `experiments/results/published/cqrd.json` names their sources."""
    return published_numbers("cqrd")


def percentiles_of(*keys: str) -> list[int]:
    """Return the percentiles of the distributions that are published under these keys."""
    found: Any = published()
    for key in keys:
        found = found[key]
    percentiles: list[int] = found["cdf_percentiles"]
    return percentiles


def value(*keys: str | int) -> float | None:
    """Return the number under these keys, None if there is none."""
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
