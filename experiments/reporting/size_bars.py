"""One rule for sizes: how far each published number of an exhibit may be from ours.

The margin is a fifth of the published number. Losses near zero have a floor of noise instead, which experiments state.
Exhibits read from files are judged again, by today's rule; margins that their files may have do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from experiments.catalog import owner_of
from experiments.results.exhibit import Exhibit
from experiments.results.result import SIZE, Check
from experiments.results.score import PART, PublishedNumber, SizeBar

DEFAULT = SizeBar()


def size_bar(exhibit: Exhibit) -> SizeBar | None:
    """Return what the rule leaves to an exhibit; None if its published numbers judge nothing."""
    if exhibit.unjudged:
        return None
    owner = owner_of(exhibit.name)
    bars = {} if owner is None else owner.size_bars()
    return next((bar for pattern, bar in bars.items() if fnmatchcase(exhibit.name, pattern)), DEFAULT)


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
