"""Bars about sizes have two sides, orders say that they are orders, and a verdict follows from both."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf

import pytest

from experiments.results.bars import limit, order, size
from experiments.results.exhibit import Exhibit, Line, Point, exhibit_from_json, exhibit_to_json
from experiments.results.result import Check
from experiments.results.size_bars import DEFAULT, SIZE_BARS, judged, size_bar
from experiments.results.verdict import judgement_of


def exhibit(name: str, ours: float | None, published: float | None, *checks: Check) -> Exhibit:
    lines = (Line("rescaling", (Point.of(1.6, [ours], published),)),)
    return Exhibit(name, "t", "Figure", "flow", "x", "%", lines, "the paper", checks)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (29.9, "differs in size"),
        (9.4, "reproduced"),
        (6.31, "reproduced"),
        (3.2, "reproduced"),
        (3.1, "differs in size"),
    ],
)
def test_a_number_may_miss_the_published_one_by_half_of_it_on_either_side(ours: float, verdict: str) -> None:
    found = judgement_of(judged(exhibit("fig10", ours, 6.31)))
    assert found.verdict == verdict
    assert (found.published, found.cause != "") == ("6.31", verdict != "reproduced")


def test_what_has_no_bar_on_both_sides_may_be_off_by_a_fifth() -> None:
    assert size_bar(exhibit("new", 1.0, 1.0, order("a less b", 1.0, low=0.0))) is DEFAULT
    assert size_bar(exhibit("new", 1.0, 1.0, size("a", 1.0, 1.0, 0.1))) is None
    assert judgement_of(judged(exhibit("new", 1.19, 1.0))).verdict == "reproduced"
    assert judgement_of(judged(exhibit("new", 0.79, 1.0))).verdict == "differs in size"
    assert judgement_of(judged(exhibit("new", 0.1, 0.0))).verdict == "differs in size"
    assert judgement_of(judged(exhibit("new", 0.0, 0.0))).verdict == "reproduced"


def test_an_order_that_is_not_there_outweighs_all_sizes() -> None:
    found = judgement_of(judged(exhibit("fig12", 12.0, 12.0, order("kuijia less rescaling", -0.1, low=0.0))))
    assert (found.verdict, found.what, found.published) == ("not shown", "kuijia less rescaling", "at least 0")


def test_what_was_not_measured_is_not_shown_and_what_nobody_published_has_no_verdict() -> None:
    assert judgement_of(judged(exhibit("fig12", None, 12.0))).verdict == "not shown"
    unpublished = replace(exhibit("recovery", 1.0, None, limit("gap", 1.0, high=2.0)), published=None)
    assert judgement_of(judged(unpublished)).verdict == "nothing published"


def test_a_missed_limit_is_a_size() -> None:
    found = judgement_of(exhibit("table4", 1.0, None, limit("median", 1.6, high=1.0)))
    assert (found.verdict, found.what) == ("differs in size", "limit: median")


def test_the_worst_point_stands_for_its_line_and_says_how_many_are_beyond() -> None:
    points = (Point.of(0.8, [1.0], 1.0), Point.of(1.2, [5.0], 1.0), Point.of(1.6, [30.0], 6.0))
    (check,) = judged(replace(exhibit("fig10", 1.0, 1.0), lines=(Line("rescaling", points),))).checks
    assert check.name == "size: rescaling at 1.6 (2 of 3 beyond)"
    assert (check.measured, check.low, check.high, check.published) == (30.0, 3.0, 9.0, 6.0)


def test_a_stored_exhibit_is_judged_by_todays_bars() -> None:
    stored = judged(exhibit("fig10", 29.9, 6.31, order("x", 1.0, low=0.0)))
    older = replace(stored, checks=(stored.checks[0], replace(stored.checks[1], low=None)))
    read = exhibit_from_json(json.loads(json.dumps(exhibit_to_json(older))), "fig10.json")
    assert judged(read).checks[1:] == stored.checks[1:]
    assert judged(judged(stored)) == stored


def test_runs_too_small_to_be_compared_have_no_size_bars() -> None:
    small = replace(exhibit("cqrd-exp1-journal-fct-average", 29.9, 6.31), unjudged=True)
    assert judged(small).checks == ()
    assert exhibit_from_json(json.loads(json.dumps(exhibit_to_json(small))), "x.json").unjudged


@pytest.mark.parametrize(
    ("check", "kind", "excess"),
    [
        (order("a", 1.0, low=0.0, high=2.0), "order", 0.0),
        (limit("a", 3.0, high=2.0), "limit", inf),
        (Check("a", 3.0, None, 2.0), "order", inf),
        (size("a", 3.0, 2.0, 0.5), "size", 2.0),
        (size("a", 2.0, 2.0, 0.0), "size", 0.0),
    ],
)
def test_a_bar_with_one_side_is_never_about_a_size(check: Check, kind: str, excess: float) -> None:
    assert (check.kind, check.excess) == (kind, excess)


def test_every_margin_is_on_both_sides_and_less_than_the_number_unless_it_is_in_units() -> None:
    for bar in SIZE_BARS.values():
        assert bar is None or 0 <= bar.part < 1
        assert bar is None or bar.part + bar.least > 0


def test_a_line_may_have_a_reason_of_its_own() -> None:
    lines = tuple(Line(label, (Point.of("(b)", [9.0], 1.0),)) for label in ("Cubic", "ExpressPass", "FlashPass"))
    shown = judged(replace(exhibit("flashpass-fig10-loss", 1.0, 1.0), lines=lines))
    causes = [check.cause for check in shown.checks]
    assert "slow start" in causes[0]
    assert "waves" in causes[1]
    assert causes[2] == ""
