"""One rule for sizes: how far each published number of an exhibit may be from ours; pure.

The margin is a fifth of the published number. Losses near zero have a floor of noise instead, stated for each figure.
Exhibits read from files are judged again, by today's rule; margins that their files may have do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from experiments.results.exhibit import Exhibit
from experiments.results.result import SIZE, Check
from experiments.results.score import PART, PublishedNumber


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


DEFAULT = SizeBar()

_DRAWS = "the paper gives neither its pairs of sites nor its choice among the best plans (docs/gscale.md)"
_BURSTS = "bursts of slow start meet in small buffers; Cubic needs seconds to grow back (docs/flashpass.md)"
_PACED = "the paper does not say how Cubic's segments are spread; Linux's pacing is ours (docs/flashpass.md)"
_WAVES = "each of 200 flows asks for twice its share at least, and data comes in waves (docs/flashpass.md)"
_STARTS = "ours counts the first round trips of flows, which emulate at the full rate (docs/flashpass.md)"
_FEW = "400 flows are over before the load is steady (docs/flashpass.md)"
_HOSTS = "the paper gives neither the rate of load 1 nor hosts' queues, and both move these times (docs/cqrd.md)"
_SLOW_HOSTS = "the authors' hosts sent less even where nothing blocked (docs/hedera_testbed.md)"
_ITERATIONS = "ours is one round with one exchange an iteration, theirs seems to be more (docs/hedera.md)"
_MACHINE = "another machine, fifteen years younger"

STUDIES = (
    "table4-factors*",
    "hedera-first-fit",
    "hedera-iterations-[!n]*",
    "gscale-search*",
    "hedera-shuffle-readings*",
    "hedera-testbed-backends-matrices",
)
"""Patterns of names of exhibits that vary what a paper leaves open, or show backends of ours beside each other.

Published numbers stand there as well, and judge nothing.

No row of the page of all published items is one of these."""

SIZE_BARS: Mapping[str, SizeBar] = {
    # 2 % of the link: flows that a full link starves still send again now and then.
    "table[23]": SizeBar(20.0, frozenset({"offered"})),
    # A point: "less than 1 %" is what the paper itself calls no loss.
    "fig1[0123]": SizeBar(1.0, cause=_DRAWS),
    "indirect": SizeBar(1.0),
    "table4": SizeBar(cause="which flows the paper has, and when they count as stable, is not known (docs/gscale.md)"),
    "fig16": SizeBar(cause="the paper's link, run and demand are not known"),
    "fields": SizeBar(
        cause="our entries match tunnels and classes, the paper's single aggregates",
        causes={"multiple tables, an entry for each aggregate": "the paper does not print its entries"},
    ),
    "hedera-matrices": SizeBar(cause="neither ECMP's hash nor what first fit reserves is known (docs/hedera.md)"),
    "hedera-iterations": SizeBar(cause=_ITERATIONS),
    "hedera-testbed-parts": SizeBar(cause="the authors' ECMP is one tree, and their switch without blocking two"),
    "hedera-testbed": SizeBar(cause=_SLOW_HOSTS),
    "hedera-shuffle*": SizeBar(cause=_SLOW_HOSTS),
    "hedera-timing*": SizeBar(cause=_MACHINE),
    "cqrd-toy-*": SizeBar(cause="published values are read by eye from a logarithmic axis"),
    "cqrd-testbed-*": SizeBar(cause="the testbed's delays and hosts' queues are not known"),
    "cqrd-exp4-average": SizeBar(
        cause="30 KB cost what room for acknowledgements and what hosts hold back make of it (docs/cqrd.md)"
    ),
    "cqrd-*": SizeBar(cause=_HOSTS),
    "flashpass-fig10-throughput": SizeBar(causes={"Cubic": _BURSTS, "Cubic, paced": _PACED, "ExpressPass": _WAVES}),
    # Less is a few packets of a burst.
    "flashpass-fig10-loss": SizeBar(0.2, causes={"Cubic": _BURSTS, "Cubic, paced": _PACED, "ExpressPass": _WAVES}),
    "flashpass-fig2-loss": SizeBar(0.2),
    "flashpass-fig1[12]": SizeBar(cause=_FEW, causes={"Cubic": _BURSTS, "Cubic, paced": _PACED}),
    "flashpass-fig14-loss": SizeBar(cause=_STARTS),
    "expresspass-flows-queue": SizeBar(cause="less than a packet is published; here a second one waits"),
    "expresspass-queues-*": SizeBar(cause="the sizes of credits decide how fast queues drain (docs/flashpass.md)"),
    "expresspass-waste": SizeBar(cause="of large flows more is published than a round trip of credits"),
    # Four of two thousand flows.
    "hermes-fig17-?-unfinished*": SizeBar(0.2),
}
"""By the name of an exhibit, or a pattern of names; the first that fits counts."""


def size_bar(exhibit: Exhibit) -> SizeBar | None:
    """Return what the rule leaves to an exhibit; None if its published numbers judge nothing."""
    if exhibit.unjudged or any(fnmatchcase(exhibit.name, pattern) for pattern in STUDIES):
        return None
    return next((bar for pattern, bar in SIZE_BARS.items() if fnmatchcase(exhibit.name, pattern)), DEFAULT)


def numbers_of(exhibit: Exhibit) -> tuple[PublishedNumber, ...]:
    """Return each published number of an exhibit that ours can be compared with, once.

    These are its points, and sizes among its bars, such as means, that are not the number of a point.
    """
    bar = size_bar(exhibit)
    if bar is None:
        return ()
    points = tuple(_points(exhibit, bar))
    stated = (each for each in map(_stated, exhibit.checks) if each is not None)
    return (*points, *(each for each in stated if not any(each.is_same_as(point) for point in points)))


def _points(exhibit: Exhibit, bar: SizeBar) -> Iterator[PublishedNumber]:
    for line in exhibit.lines:
        if line.label in bar.given:
            continue
        cause = bar.causes.get(line.label, bar.cause)
        for point in line.points:
            if point.value is not None and point.published is not None:
                yield PublishedNumber.of_point(line.label, point, bar.noise, cause)


def _stated(check: Check) -> PublishedNumber | None:
    if not _is_size(check) or check.published is None or check.low is None or check.high is None:
        return None
    # A file from before one rule held for all may have a margin around a published nought.
    noise = 0.0 if check.published else max(check.published - check.low, check.high - check.published)
    return PublishedNumber(check.name, "", check.measured, check.published, noise, cause=check.cause)


def judged(exhibit: Exhibit) -> Exhibit:
    """Return the exhibit with the bars of today's rule instead of those about sizes that it may have from a file.

    A line has one bar: that of its number which is farthest beyond the margin. Orders, limits and promises stay. So do
    sizes of which nothing is published, if no number of the exhibit is.
    """
    own = [check for check in exhibit.checks if not check.name.startswith(SIZE)]
    if size_bar(exhibit) is None:
        return replace(exhibit, checks=tuple(own))
    numbers = numbers_of(exhibit)
    stated = {number.line: number.check(0, 1) for number in numbers if not number.place}
    kept = [
        stated.get(check.name, check)
        for check in own
        if not _is_size(check) or check.name in stated or not (numbers or check.published is not None)
    ]
    return replace(exhibit, checks=(*kept, *_worst_of_lines(number for number in numbers if number.place)))


def _is_size(check: Check) -> bool:
    """Return True for a bar about a size that is no promise and not made of points."""
    return check.kind == "size" and check.low != check.high and not check.name.startswith(SIZE)


def _worst_of_lines(numbers: Iterable[PublishedNumber]) -> Iterator[Check]:
    by_line: dict[str, list[PublishedNumber]] = {}
    for number in numbers:
        by_line.setdefault(number.line, []).append(number)
    for own in by_line.values():
        beyond = sum(number.is_beyond for number in own)
        yield max(own, key=lambda number: number.excess).check(beyond, len(own))


def margin_of(exhibit: Exhibit) -> str:
    """Return the margin of an exhibit's numbers in words."""
    bar = size_bar(exhibit)
    noise = f", or {bar.noise:g} where that is more" if bar is not None and bar.noise else ""
    return f"{PART:.0%}{noise}"
