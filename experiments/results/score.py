"""Comparisons of our numbers with published ones: margins, number of runs, bars, and verdicts on runs; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import hypot, inf, isclose
from statistics import fmean

from experiments.results.exhibit import Point, heading
from experiments.results.result import LIMIT, ORDER, SIZE, Check, FlowResult

PART = 0.2
"""Margin on both sides of a published number, as a part of it: figures are read to a hundredth of their axis, and seeds
of simulated loads differ by up to a tenth."""

TWICE = 2.0
"""Margins within which a number is near."""

_ROUNDING = 1e-9
"""Relative: a number at the very margin is within it."""


@dataclass(frozen=True)
class SizeBar:
    """Choices that the rule leaves to an exhibit.

    Attributes:
        noise: losses below this, in the exhibit's unit, are noise: a margin of as much, where a fifth is less.
        given: labels of lines that are inputs of the run, such as rates that are offered: they are not judged.
        cause: short reason for a known difference; empty for none.
        causes: other reasons, by the label of their line.
    """

    noise: float = 0.0
    given: frozenset[str] = frozenset()
    cause: str = ""
    causes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PublishedNumber:
    """A published number and ours.

    Attributes:
        line: label of its line, or the name of the bar that states it.
        place: position on the line; empty for none.
        ours: None if a run has no such number, such as that of a rate which never settles: beyond any margin.
        noise: least margin, in the unit of the number.
        runs: number of ours that are averaged.
        spread: half the distance from the lowest to the highest of several runs, as a part of our number; None if there
            is one run or our number is 0.
        cause: short reason for a known difference; empty for none.
        is_bound: True if ours is a lower bound, which is within no margin.
    """

    line: str
    place: str
    ours: float | None
    published: float
    noise: float = 0.0
    runs: int = 0
    spread: float | None = None
    cause: str = ""
    is_bound: bool = False

    @classmethod
    def of_point(cls, line: str, point: Point, noise: float, cause: str) -> PublishedNumber:
        """Return the number of a point that has a published one."""
        assert point.published is not None, "a point with a published number"
        spread = _spread(point)
        return cls(
            line, heading(point.x), point.value, point.published, noise, point.runs, spread, cause, point.at_least
        )

    def is_same_as(self, other: PublishedNumber) -> bool:
        """Return True if both have the same numbers."""
        one, another = self.ours, other.ours
        ours = one is another if one is None or another is None else isclose(one, another)
        return ours and isclose(self.published, other.published)

    @property
    def what(self) -> str:
        return f"{self.line} at {self.place}" if self.place else self.line

    @property
    def margin(self) -> float:
        return max(PART * abs(self.published), self.noise)

    @property
    def is_small(self) -> bool:
        """True if the published number is no more than noise: parts of such a number say nothing."""
        return abs(self.published) <= self.noise

    @property
    def relative_error(self) -> float | None:
        """Distance from the published number as a part of it; None without ours, or if that is 0 or only noise."""
        return None if self.is_small or self.ours is None else abs(self.ours - self.published) / abs(self.published)

    @property
    def excess(self) -> float:
        """Distance from the published number in margins; infinite without one of ours."""
        distance = self._in(self.margin)
        return inf if self.is_bound and distance <= TWICE * (1 + _ROUNDING) else distance

    @property
    def is_within_part(self) -> bool:
        """True if the number is within a fifth of the published one, whatever is noise."""
        return not self.is_bound and self._in(PART * abs(self.published)) <= 1 + _ROUNDING

    @property
    def is_beyond(self) -> bool:
        return self.excess > 1 + _ROUNDING

    @property
    def is_far(self) -> bool:
        """True if the number is beyond twice its margin."""
        return self.excess > TWICE * (1 + _ROUNDING)

    def _in(self, margin: float) -> float:
        return inf if self.ours is None else _in_parts(abs(self.ours - self.published), margin)

    def check(self, beyond: int, total: int) -> Check:
        """Return the bar of this number, which stands for `total` numbers of a line, `beyond` of them off."""
        assert self.ours is not None, "a bar needs a number of ours"
        low, high = self.published - self.margin, self.published + self.margin
        if not self.place:
            return Check(self.line, self.ours, low, high, self.published, self.cause)
        counted = f" ({beyond} of {total} beyond)" if beyond else ""
        return Check(f"{SIZE}{self.what}{counted}", self.ours, low, high, self.published, self.cause if beyond else "")


@dataclass(frozen=True)
class Score:
    """Distances of all numbers of an exhibit, or of several, from the published ones."""

    numbers: tuple[PublishedNumber, ...] = ()

    @property
    def within(self) -> int:
        """Number of those within their margins."""
        return sum(not number.is_beyond for number in self.numbers)

    @property
    def worst(self) -> PublishedNumber | None:
        """The number farthest beyond its margin; None without any."""
        return max(self.numbers, key=lambda number: number.excess, default=None)

    @property
    def counted(self) -> str:
        """The number of those within their margins, in words; empty without any."""
        return f"{self.within} of {len(self.numbers)}" if self.numbers else ""

    @property
    def error(self) -> str:
        """The mean relative error of those that are published as more than noise; empty without any."""
        errors = [error for number in self.numbers if (error := number.relative_error) is not None]
        return f"{fmean(errors):.0%}" if errors else ""

    @property
    def runs(self) -> str:
        """Least and largest number of runs, or seeds, behind a number; empty if unknown."""
        found = sorted({number.runs for number in self.numbers if number.runs})
        return " to ".join(str(each) for each in dict.fromkeys((*found[:1], *found[-1:])))

    @property
    def spread(self) -> str:
        """The mean spread of the runs around their mean; empty if there is one run of each."""
        found = [each.spread for each in self.numbers if each.spread is not None and not each.is_small]
        return f"±{fmean(found):.0%}" if found else ""


def _spread(point: Point) -> float | None:
    if point.runs < 2 or not point.value:
        return None
    if point.low is not None and point.high is not None:
        return (point.high - point.low) / 2 / abs(point.value)
    return None if point.spread is None else point.spread / abs(point.value)


def _in_parts(distance: float, margin: float) -> float:
    if not margin:
        return inf if distance else 0.0
    return distance / margin


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
