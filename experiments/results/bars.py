"""Makes checks of bars, each of which says what it is about: a size, an order or a limit; pure."""

from __future__ import annotations

from experiments.results.result import LIMIT, ORDER, Check


def order(name: str, measured: float, low: float | None = None, high: float | None = None) -> Check:
    """Return a check that an order or effect is there, however large."""
    return Check(f"{ORDER}{name}", measured, low, high)


def limit(name: str, measured: float, low: float | None = None, high: float | None = None) -> Check:
    """Return a check of a bound: the paper prints a bound itself ("less than 1 s"), or the bound is a goal of ours."""
    return Check(f"{LIMIT}{name}", measured, low, high)


def size(name: str, measured: float, published: float, margin: float, cause: str = "") -> Check:
    """Return a check that a number is the published one within a margin on both sides."""
    return Check(name, measured, published - margin, published + margin, published, cause)
