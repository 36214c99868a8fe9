"""Verdict on an exhibit beside the paper: reproduced, differs in size, or not shown; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from experiments.results.exhibit import Exhibit
from experiments.results.exhibit_table import number
from experiments.results.result import ORDER, SIZE, Check

Verdict = Literal["not shown", "differs in size", "reproduced", "nothing published"]
"""Relation of our numbers to the published ones."""

NOT_SHOWN: Final = "not shown"
DIFFERS: Final = "differs in size"
REPRODUCED: Final = "reproduced"
UNPUBLISHED: Final = "nothing published"
VERDICTS: tuple[Verdict, ...] = (NOT_SHOWN, DIFFERS, REPRODUCED, UNPUBLISHED)
"""All of them, the worst first."""


@dataclass(frozen=True)
class Judgement:
    """A verdict with the number that decides it; the texts are ready to be shown.

    Attributes:
        what: line and place of the number, or the order that does not hold.
        cause: short reason for a known difference; empty for none.
    """

    verdict: Verdict
    what: str = ""
    published: str = ""
    ours: str = ""
    deviation: str = ""
    cause: str = ""


def judgement_of(exhibit: Exhibit) -> Judgement:
    """Return the verdict of an exhibit's bars.

    It is not shown if nothing was measured or if an order or effect is not there; it differs in size if all are there
    and some number is beyond its margin or limit.
    """
    if not exhibit.has_values:
        return Judgement(NOT_SHOWN, "not measured")
    if not exhibit.checks or not _is_published(exhibit):
        return Judgement(UNPUBLISHED)
    missed = [check for check in exhibit.checks if not check.passed]
    orders = [check for check in missed if check.kind == "order"]
    if orders:
        return _told(NOT_SHOWN, orders[0], sum(check.kind == "order" for check in exhibit.checks), len(orders))
    if missed:
        return _told(DIFFERS, max(missed, key=_weight), len(exhibit.checks), len(missed))
    return _reproduced(exhibit)


def _reproduced(exhibit: Exhibit) -> Judgement:
    nearest = max(exhibit.checks, key=_weight)
    if nearest.kind != "size" and len(exhibit.checks) > 1:
        return Judgement(REPRODUCED, f"all {len(exhibit.checks)} orders and limits")
    return _told(REPRODUCED, nearest, len(exhibit.checks), 0)


def _is_published(exhibit: Exhibit) -> bool:
    points = (point for line in exhibit.lines for point in line.points)
    return exhibit.published is not None or any(point.published is not None for point in points)


def _weight(check: Check) -> tuple[bool, float]:
    """Return the rank of a check as the one that is told: those about sizes first, then by their excess."""
    return check.kind == "size", check.excess


def _told(verdict: Verdict, check: Check, total: int, missed: int) -> Judgement:
    what = check.name.removeprefix(SIZE).removeprefix(ORDER)
    if missed and total > 1 and not check.name.startswith(SIZE):
        kind = "orders" if verdict is NOT_SHOWN else "bars"
        what = f"{what} ({missed} of {total} {kind} missed)"
    if check.published is None:
        return Judgement(verdict, what, check.bar, f"{check.measured:.4g}", "", check.cause)
    deviation = check.measured - check.published
    part = f" ({deviation / abs(check.published):+.0%})" if check.published else ""
    return Judgement(
        verdict, what, number(check.published), number(check.measured), f"{number(deviation)}{part}", check.cause
    )
