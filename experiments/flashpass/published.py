"""Published numbers of the two papers, as data."""

from __future__ import annotations

from functools import cache
from typing import Any

from experiments.results.published import published_numbers


@cache
def published() -> dict[str, Any]:
    """Return all published numbers; `experiments/results/published/flashpass_credits.json` names their sources."""
    return published_numbers("flashpass_credits")
