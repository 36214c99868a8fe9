"""Verdict on an exhibit beside the paper, by one rule for all of them; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from experiments.reporting.size_bars import margin_of, numbers_of
from experiments.results.exhibit import Exhibit
from experiments.results.exhibit_table import number
from experiments.results.result import ORDER, SIZE, Check
from experiments.results.score import PublishedNumber, Score

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
VERDICTS: tuple[Verdict, ...] = (
    NOT_SHOWN,
    NOT_MEASURED,
    UNDECIDABLE,
    DIFFERS,
    NEAR,
    NOISE,
    REPRODUCED,
    UNPUBLISHED,
)
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
    the floor of noise. A missed limit differs; so does a size that is not a published number but its bar. An order that
    is not there outweighs all.
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
    deviation = worst.ours - worst.published
    part = f" ({deviation / abs(worst.published):+.0%})" if worst.published else ""
    return Judgement(
        _grade(score.numbers, worst),
        worst.what,
        number(worst.published),
        number(worst.ours),
        f"{number(deviation)}{part}",
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
