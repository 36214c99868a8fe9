"""Comparison of plans and versions by identity: to compare large ones by value takes long; pure."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_


def are_identical(one: Sequence[object], other: Sequence[object]) -> bool:
    """Return True if both have the same objects in the same order."""
    return len(one) == len(other) and all(map(is_, one, other))
