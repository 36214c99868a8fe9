"""Makes checks of bars, each labelled with its subject (a size, an order or a limit), and judges runs; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

from experiments.results.exhibit import Point
from experiments.results.result import LIMIT, ORDER, Check, FlowResult
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
    """Return a check that an order or effect exists, of any size; with `published` and `spread` it may be a tie."""
    return Check(f"{ORDER}{name}", measured, low, high, published, spread=spread)


def slower(name: str, slow: Point, fast: Point, *, relative: bool = False) -> list[Check]:
    """Return the check that one number is larger, as published; nothing if one of ours is unknown.

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
    """Return a check of a bound: one that the paper prints ("less than 1 s"), or a goal of our own."""
    return Check(f"{LIMIT}{name}", measured, low, high)


def size(name: str, measured: float, published: float, cause: str = "") -> Check:
    """Return the bar about a number that is stated, not one of a line's points; the margin is that of all numbers."""
    return PublishedNumber(name, "", measured, published, cause=cause).check(0, 1)


MARGIN = 0.08
"""Largest distance of a goodput share from the published one where TCP flows compete."""

CARRIED = 0.92
"""Least goodput / offered rate of a network that is not overloaded; headers alone make it 0.954 (paper: 0.95)."""


@dataclass(frozen=True)
class Bar:
    """Bounds on the share of goodput (after / before) that some flows keep together, and the published share."""

    flows: tuple[str, ...]
    low: float
    high: float | None
    published: float

    @property
    def name(self) -> str:
        return f"{' + '.join(self.flows)} after/before"


def around(flows: tuple[str, ...], share: float) -> Bar:
    """Return a bar: the flows keep `share` of their goodput, within `MARGIN`."""
    return Bar(flows, share - MARGIN, share + MARGIN, share)


def judge(bars: Sequence[Bar], flows: Sequence[FlowResult]) -> tuple[Check, ...]:
    """Return one check per bar.

    Raises:
        ValueError: the flows of a bar had no goodput before the failure, so their share is undefined.
    """
    by_name = {flow.name: flow for flow in flows}
    checks = []
    for bar in bars:
        before = sum(by_name[name].before for name in bar.flows)
        after = sum(by_name[name].after for name in bar.flows)
        if before <= 0:
            raise ValueError(f"{' and '.join(bar.flows)} had no goodput before the failure")
        checks.append(Check(bar.name, after / before, bar.low, bar.high, bar.published))
    return tuple(checks)


def uncarried(flows: Sequence[FlowResult]) -> tuple[str, ...]:
    """Return reasons, in words, if the network did not carry the offered load before the failure, as it should have.

    Flows are added up, as those that fill a link share it by chance.
    """
    offered, carried = sum(flow.offered for flow in flows), sum(flow.before for flow in flows)
    if carried >= CARRIED * offered:
        return ()
    return (f"before the cut {carried:.1f} of {offered:g} Mbit/s offered got through, less than {CARRIED:.0%}",)
