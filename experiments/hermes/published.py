"""Published numbers of the paper, as data."""

from __future__ import annotations

from functools import cache
from typing import Any

from experiments.results.published import published_numbers


@cache
def published() -> dict[str, Any]:
    """Return all published numbers; None stands for a value off the figure's scale or missing."""
    return published_numbers("hermes")
