"""Makes checks of bars, each of which says what it is about: a size, an order or a limit; pure."""

from __future__ import annotations

from math import hypot

from experiments.results.exhibit import Point
from experiments.results.result import LIMIT, ORDER, Check
from experiments.results.score import PublishedNumber


def order(
    name: str,
    measured: float,
    low: float | None = None,
    high: float | None = None,
    *,
    published: float | None = None,
    spread: float | None = None,
) -> Check:
    """Return a check that an order or effect is there, however large; with `published` and `spread` it may be a tie."""
    return Check(f"{ORDER}{name}", measured, low, high, published, spread=spread)


def slower(name: str, slow: Point, fast: Point, *, relative: bool = False) -> list[Check]:
    """Return the order that one number is the larger, as published; nothing if one of ours is not known.

    It may be a tie if both numbers are relative to one base, seed by seed: then their spreads give that of the ratio.
    Spreads of other numbers say more of the seeds than of the difference.
    """
    if slow.value is None or not fast.value:
        return []
    ratio = slow.value / fast.value
    spread = ratio * hypot(_part(slow), _part(fast)) if relative and max(slow.runs, fast.runs) > 1 else None
    published = slow.published / fast.published if slow.published is not None and fast.published else None
    return [order(name, ratio, low=1.0, published=published, spread=spread)]


def _part(point: Point) -> float:
    """Return half the distance between the lowest and the highest run, as a part of their mean."""
    if point.value and point.low is not None and point.high is not None:
        return (point.high - point.low) / 2 / abs(point.value)
    return 0.0


def limit(name: str, measured: float, low: float | None = None, high: float | None = None) -> Check:
    """Return a check of a bound: the paper prints a bound itself ("less than 1 s"), or the bound is a goal of ours."""
    return Check(f"{LIMIT}{name}", measured, low, high)


def size(name: str, measured: float, published: float, cause: str = "") -> Check:
    """Return the bar about a number that is stated, not one of a line's points; the margin is that of all numbers."""
    return PublishedNumber(name, "", measured, published, cause=cause).check(0, 1)
