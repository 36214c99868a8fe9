"""Verdict on an exhibit against the paper, by one rule for all: how far each published number may be from ours.

The margin is a fifth of the published number. Losses near zero have a floor of noise instead, which experiments state.
Exhibits read from files are judged again, by today's rule; margins that their files may have do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final, Literal, get_args

from experiments.catalog import owner_of
from experiments.results.exhibit import Exhibit
from experiments.results.exhibit import number as in_digits
from experiments.results.result import ORDER, SIZE, Check
from experiments.results.score import PART, PublishedNumber, Score, SizeBar

DEFAULT = SizeBar()


def size_bar(exhibit: Exhibit) -> SizeBar | None:
    """Return the choices that the rule leaves to an exhibit; None if its published numbers judge nothing."""
    if exhibit.unjudged:
        return None
    owner = owner_of(exhibit.name)
    bars = {} if owner is None else owner.size_bars()
    return next((bar for pattern, bar in bars.items() if fnmatchcase(exhibit.name, pattern)), DEFAULT)


def numbers_of(exhibit: Exhibit) -> tuple[PublishedNumber, ...]:
    """Return each published number of an exhibit, once.

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
            if point.published is not None:
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
        known = [number for number in own if number.ours is not None]
        yield from (each.check(beyond, len(own)) for each in sorted(known, key=lambda number: -number.excess)[:1])


def margin_of(exhibit: Exhibit) -> str:
    """Return the margin of an exhibit's numbers in words."""
    bar = size_bar(exhibit)
    noise = f", or {bar.noise:g} where that is more" if bar is not None and bar.noise else ""
    return f"{PART:.0%}{noise}"


Verdict = Literal[
    "order not shown",
    "not measured",
    "not decidable from what is published",
    "differs",
    "within twice the margin",
    "within noise",
    "reproduced",
    "nothing published",
]
"""Relation of our numbers to the published ones."""

NOT_SHOWN: Final = "order not shown"
NOT_MEASURED: Final = "not measured"
UNDECIDABLE: Final = "not decidable from what is published"
DIFFERS: Final = "differs"
NEAR: Final = "within twice the margin"
NOISE: Final = "within noise"
REPRODUCED: Final = "reproduced"
UNPUBLISHED: Final = "nothing published"
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""All of them, the worst first."""


@dataclass(frozen=True)
class Judgement:
    """A verdict with the number that decides it; the texts are ready to be shown.

    Attributes:
        what: line and place of the number, or the order that does not hold.
        cause: short reason for a known difference; empty for none.
        margin: of each number, in words; empty if no number is compared.
        score: all published numbers beside ours.
    """

    verdict: Verdict
    what: str = ""
    published: str = ""
    ours: str = ""
    deviation: str = ""
    cause: str = ""
    margin: str = ""
    score: Score = field(default_factory=Score)


def judgement_of(exhibit: Exhibit) -> Judgement:
    """Return the verdict on an exhibit.

    The worst number decides: it is reproduced if all are within a fifth, within noise if some of them only are so by
    the floor of noise. A published number without one of ours differs, and so does one near a lower bound of ours. A
    missed limit differs; so does a size that is not a published number but its bar. An order that is not there
    outweighs all.
    """
    if not exhibit.has_values:
        return Judgement(NOT_MEASURED)
    score = Score(numbers_of(exhibit))
    stated = {each.line for each in score.numbers if not each.place}
    others = [each for each in exhibit.checks if not each.name.startswith(SIZE) and each.name not in stated]
    if not _is_published(exhibit) or not (score.numbers or others):
        return Judgement(UNPUBLISHED)
    found = _by_bars(others, score.worst) or _by_number(score) or _all_hold(others)
    return replace(found, margin=margin_of(exhibit) if score.numbers else "", score=score)


def _by_bars(others: Sequence[Check], worst: PublishedNumber | None) -> Judgement | None:
    """Return the judgement of orders, limits and promises if one is missed and no number is more telling."""
    orders = [check for check in others if check.is_order]
    missed = [check for check in orders if not check.passed]
    if missed:
        return _by_check(NOT_SHOWN, missed[0], f" ({len(missed)} of {len(orders)} orders missed)")
    missed = [check for check in others if not check.passed]
    if missed and not (worst is not None and worst.is_far):
        return _by_check(DIFFERS, missed[0], f" ({len(missed)} of {len(others)} bars missed)")
    return None


def _all_hold(others: Sequence[Check]) -> Judgement:
    if len(others) == 1:
        return _by_check(REPRODUCED, others[0], "")
    return Judgement(REPRODUCED, f"all {len(others)} orders and limits")


def _by_number(score: Score) -> Judgement | None:
    worst = score.worst
    if worst is None:
        return None
    deviation = None if worst.ours is None else worst.ours - worst.published
    part = f" ({deviation / abs(worst.published):+.0%})" if worst.published and deviation is not None else ""
    return Judgement(
        _grade(score.numbers, worst),
        worst.what,
        in_digits(worst.published),
        in_digits(worst.ours),
        f"{in_digits(deviation)}{part}",
        worst.cause if worst.is_beyond else "",
    )


def _grade(numbers: tuple[PublishedNumber, ...], worst: PublishedNumber) -> Verdict:
    if worst.is_far:
        return DIFFERS
    if worst.is_beyond:
        return NEAR
    return REPRODUCED if all(each.is_within_part for each in numbers) else NOISE


def _is_published(exhibit: Exhibit) -> bool:
    points = (point for line in exhibit.lines for point in line.points)
    return exhibit.published is not None or any(point.published is not None for point in points)


def _by_check(verdict: Verdict, check: Check, counted: str) -> Judgement:
    what = f"{check.name.removeprefix(ORDER)}{counted}"
    return Judgement(verdict, what, check.bar, f"{check.measured:.4g}", "", check.cause)
