"""One rule judges all published numbers; orders say that they are orders, and a verdict follows from both."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf

import pytest

from experiments.reporting.results_page import all_items, places
from experiments.reporting.verdict import judged, judgement_of, size_bar
from experiments.results.exhibit import Exhibit, Line, Point, exhibit_from_json, exhibit_to_json
from experiments.results.result import Check, check_from_json, check_to_json
from experiments.results.score import limit, order, size


def exhibit(name: str, ours: float | None, published: float | None, *checks: Check) -> Exhibit:
    lines = (Line("rescaling", (Point.of(1.6, [ours], published),)),)
    return Exhibit(name, "t", "Figure", "flow", "x", "%", lines, "the paper", checks)


@pytest.mark.parametrize(
    ("ours", "published", "verdict"),
    [
        (12.0, 10.0, "reproduced"),
        (8.0, 10.0, "reproduced"),
        (1.2, 1.0, "reproduced"),
        (12.01, 10.0, "within twice the margin"),
        (7.99, 10.0, "within twice the margin"),
        (14.0, 10.0, "within twice the margin"),
        (6.0, 10.0, "within twice the margin"),
        (14.01, 10.0, "differs"),
        (5.99, 10.0, "differs"),
        (-12.0, -10.0, "reproduced"),
        (10.0, -10.0, "differs"),
        (0.0, 0.0, "reproduced"),
        (0.001, 0.0, "differs"),
    ],
)
def test_a_fifth_of_the_published_number_is_the_margin_on_both_sides(
    ours: float, published: float, verdict: str
) -> None:
    assert judgement_of(judged(exhibit("new", ours, published))).verdict == verdict


@pytest.mark.parametrize(
    ("ours", "published", "verdict"),
    [
        (0.9, 0.0, "within noise"),
        (1.0, 0.0, "within noise"),
        (1.01, 0.0, "within twice the margin"),
        (2.01, 0.0, "differs"),
        (3.0, 2.0, "within noise"),
        (2.4, 2.0, "reproduced"),
        (7.5, 6.25, "reproduced"),
        (7.6, 6.25, "within twice the margin"),
    ],
)
def test_losses_near_zero_have_a_floor_of_noise_and_are_not_called_reproduced(
    ours: float, published: float, verdict: str
) -> None:
    """Figure 10 has a floor of one point, which is a fifth of 5 %."""
    assert judgement_of(judged(exhibit("fig10", ours, published))).verdict == verdict


def test_a_verdict_states_its_margin() -> None:
    assert judgement_of(exhibit("new", 1.0, 1.0)).margin == "20%"
    assert judgement_of(exhibit("fig10", 1.0, 1.0)).margin == "20%, or 1 where that is more"


def test_an_exhibit_with_sizes_of_its_own_is_not_exempt() -> None:
    """The mean is as published, and the point is not."""
    own = exhibit("new", 1.5, 1.0, size("the mean", 5.0, 5.0))
    found = judgement_of(judged(own))
    assert (found.verdict, found.what, found.score.counted) == ("differs", "rescaling at 1.6", "1 of 2")


def test_a_size_of_its_own_is_held_to_the_same_margin() -> None:
    near, far = (exhibit("new", 1.0, 1.0, Check("the mean", ours, 2.0, 8.0, 5.0)) for ours in (6.0, 6.1))
    assert [judgement_of(judged(each)).verdict for each in (near, far)] == ["reproduced", "within twice the margin"]
    assert [(check.low, check.high) for check in judged(far).checks if check.name == "the mean"] == [(4.0, 6.0)]


def test_a_size_that_is_the_number_of_a_point_counts_once() -> None:
    twice = exhibit("new", 1.1, 1.0, size("the same", 1.1, 1.0))
    assert judgement_of(twice).score.counted == "1 of 1"
    assert [check.name for check in judged(twice).checks] == ["size: rescaling at 1.6"]
    other = exhibit("new", 1.1, 1.0, size("a mean", 1.15, 1.0))
    assert judgement_of(other).score.counted == "2 of 2"


def test_a_margin_of_a_file_around_no_published_number_does_not_count_beside_points() -> None:
    loose = exhibit("new", 1.5, 1.0, Check("ours / published", 1.5, 0.1, 9.0))
    assert judgement_of(judged(loose)).verdict == "differs"
    alone = exhibit("new", 1.5, None, Check("Hermes / CONGA", 1.5, 0.75, 1.25))
    assert judgement_of(judged(alone)).verdict == "differs"


def test_inputs_of_a_run_are_no_results() -> None:
    lines = tuple(Line(label, (Point.of("f1", [400.0], 400.0),)) for label in ("offered", "before, kuijia"))
    assert judgement_of(replace(exhibit("table2", 1.0, 1.0), lines=lines)).score.counted == "1 of 1"


def test_an_order_that_is_not_there_outweighs_all_sizes() -> None:
    found = judgement_of(judged(exhibit("fig12", 12.0, 12.0, order("kuijia less rescaling", -0.1, low=0.0))))
    assert (found.verdict, found.published) == ("order not shown", "at least 0")
    assert found.what == "kuijia less rescaling (1 of 1 orders missed)"


def test_a_promise_that_is_broken_is_an_order_that_is_not_there() -> None:
    found = judgement_of(judged(exhibit("new", 12.0, 12.0, Check("cuts survived", 0.9, 1.0, 1.0))))
    assert (found.verdict, found.what) == ("order not shown", "cuts survived (1 of 1 orders missed)")


@pytest.mark.parametrize(
    ("published", "spread", "measured", "verdict"),
    [
        (1.01, 0.02, 0.99, "reproduced"),
        (1.01, 0.01, 0.99, "order not shown"),
        (1.05, 0.02, 0.99, "order not shown"),
        (1.05, 0.02, 1.01, "reproduced"),
        (1.01, None, 0.99, "order not shown"),
    ],
)
def test_an_order_published_by_less_than_seeds_differ_is_a_tie(
    published: float, spread: float | None, measured: float, verdict: str
) -> None:
    check = Check("order: a / b", measured, 1.0, None, published, spread=spread)
    found = judgement_of(exhibit("new", 1.0, 1.0, check))
    assert found.verdict == verdict
    assert check_from_json(check_to_json(check)) == check


@pytest.mark.parametrize(
    ("low", "high", "published"), [(0.4, 0.6, 0.67), (0.4, 0.6, 0.39), (1.0, None, 0.99), (None, 1.0, 1.01)]
)
def test_a_bar_that_the_published_number_misses_is_an_error(
    low: float | None, high: float | None, published: float
) -> None:
    with pytest.raises(ValueError, match="misses its own bar"):
        Check("Hermes / ECMP at 0.9", 0.5, low, high, published)


def test_runs_mean_error_and_spread_are_stated() -> None:
    """Errors are 10 and 30 %; the runs lie .5 of 11 and 1 of 13 around their means."""
    points = (Point.of(1, [10.5, 11.5], 10.0), Point.of(2, [12.0, 13.0, 14.0], 10.0))
    score = judgement_of(replace(exhibit("new", 1.0, 1.0), lines=(Line("a", points),))).score
    assert (score.counted, score.error, score.runs, score.spread) == ("1 of 2", "20%", "2 to 3", "±6%")
    single = judgement_of(exhibit("new", 1.1, 1.0)).score
    assert (single.error, single.runs, single.spread) == ("10%", "1", "")


def test_numbers_as_small_as_noise_have_no_part_in_the_mean_error() -> None:
    points = (Point.of(1, [0.9], 0.1), Point.of(2, [12.0], 10.0))
    score = judgement_of(replace(exhibit("fig10", 1.0, 1.0), lines=(Line("a", points),))).score
    assert (score.counted, score.error) == ("2 of 2", "20%")


def test_what_was_not_measured_is_said_and_what_nobody_published_has_no_verdict() -> None:
    assert judgement_of(judged(exhibit("fig12", None, 12.0))).verdict == "not measured"
    unpublished = replace(exhibit("recovery", 1.0, None, limit("gap", 1.0, high=2.0)), published=None)
    assert judgement_of(judged(unpublished)).verdict == "nothing published"


@pytest.mark.parametrize(
    ("ours", "at_least", "deviation", "bar"),
    [
        (None, False, "-", "size: a at 1 (1 of 2 beyond)"),
        (10.0, True, "0 (+0%)", "size: a at 2 (1 of 2 beyond)"),
        (8.0, True, "-2 (-20%)", "size: a at 2 (1 of 2 beyond)"),
        (15.0, True, "5 (+50%)", "size: a at 2 (1 of 2 beyond)"),
    ],
)
def test_a_published_number_without_one_of_ours_or_with_a_bound_is_beyond_any_margin(
    ours: float | None, deviation: str, bar: str, *, at_least: bool
) -> None:
    """A rate that never settles has no number, and one that has not settled when the run ends is a bound."""
    points = (Point.of(1, [10.0], 10.0), replace(Point.of(2, [ours], 10.0), at_least=at_least))
    shown = replace(exhibit("new", 1.0, 1.0), lines=(Line("a", points),))
    found = judgement_of(judged(shown))
    assert (found.verdict, found.what, found.score.counted) == ("differs", "a at 2", "1 of 2")
    assert found.deviation == deviation
    assert [check.name for check in judged(shown).checks] == [bar]


def test_a_missed_limit_differs() -> None:
    found = judgement_of(exhibit("table4", 1.0, None, limit("median", 1.6, high=1.0)))
    assert (found.verdict, found.what) == ("differs", "limit: median (1 of 1 bars missed)")
    far = judgement_of(exhibit("table4", 2.0, 1.0, limit("median", 1.6, high=1.0)))
    assert (far.verdict, far.what) == ("differs", "rescaling at 1.6")


def test_the_worst_point_stands_for_its_line_and_says_how_many_are_beyond() -> None:
    points = (Point.of(0.8, [1.0], 1.0), Point.of(1.2, [5.0], 1.0), Point.of(1.6, [30.0], 6.0))
    (check,) = judged(replace(exhibit("fig10", 1.0, 1.0), lines=(Line("rescaling", points),))).checks
    assert check.name == "size: rescaling at 1.6 (2 of 3 beyond)"
    assert (check.measured, check.published) == (30.0, 6.0)
    assert (check.low, check.high) == pytest.approx((4.8, 7.2))


def test_a_stored_exhibit_is_judged_by_todays_bars() -> None:
    stored = judged(exhibit("fig10", 29.9, 6.31, order("x", 1.0, low=0.0)))
    older = replace(stored, checks=(stored.checks[0], replace(stored.checks[1], low=None)))
    read = exhibit_from_json(json.loads(json.dumps(exhibit_to_json(older))), "fig10.json")
    assert judged(read).checks[1:] == stored.checks[1:]
    assert judged(judged(stored)) == stored


def test_runs_too_small_to_be_compared_have_no_size_bars() -> None:
    small = replace(exhibit("cqrd-exp1-journal-fct-average", 29.9, 6.31), unjudged=True)
    assert judged(small).checks == ()
    assert judgement_of(small).score.numbers == ()
    assert exhibit_from_json(json.loads(json.dumps(exhibit_to_json(small))), "x.json").unjudged


@pytest.mark.parametrize(
    ("check", "kind", "excess"),
    [
        (order("a", 1.0, low=0.0, high=2.0), "order", 0.0),
        (limit("a", 3.0, high=2.0), "limit", inf),
        (Check("a", 3.0, None, 2.0), "order", inf),
        (size("a", 3.0, 5.0), "size", 2.0),
        (Check("a", 2.0, 2.0, 2.0), "size", 0.0),
    ],
)
def test_a_bar_with_one_side_is_never_about_a_size(check: Check, kind: str, excess: float) -> None:
    assert (check.kind, check.excess) == (kind, excess)


def test_no_row_is_a_study_whose_numbers_judge_nothing() -> None:
    for place in places(all_items()):
        name = place.split(" ")[1]
        assert size_bar(exhibit(name, 1.0, 1.0)) is not None, place


def test_a_line_may_have_a_reason_of_its_own() -> None:
    lines = tuple(Line(label, (Point.of("(b)", [9.0], 1.0),)) for label in ("Cubic", "ExpressPass", "FlashPass"))
    shown = judged(replace(exhibit("flashpass-fig10-loss", 1.0, 1.0), lines=lines))
    causes = [check.cause for check in shown.checks]
    assert "slow start" in causes[0]
    assert "waves" in causes[1]
    assert causes[2] == ""
