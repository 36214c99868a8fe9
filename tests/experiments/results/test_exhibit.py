from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.reporting.exhibit_output import exhibit_figure
from experiments.results.exhibit import Exhibit, Line, Point, exhibit_from_json, exhibit_text, exhibit_to_json, rows
from experiments.results.result import Check
from kuijia_base.errors import InputError

GOOD, BAD = Check("loss", 1.0, None, 2.0), Check("rescaling at 1.6", 3.0, 5.0, None)


def made(*checks: Check) -> Exhibit:
    lines = (
        Line("rescaling", (Point.of(0.8, [1.0, 3.0], 2.5), Point.of(1.6, [8.0, None], 6.0))),
        Line("kuijia", (Point.of(0.8, [0.0]), Point.of(1.6, [None], 0.5))),
    )
    return Exhibit(
        "fig10", "losses", "Figure 10", "flow", "demand", "loss (%)", lines, "the paper", checks, ("A remark.",)
    )


@given(st.lists(st.none() | st.floats(-100, 100), max_size=5))
def test_a_point_is_the_mean_of_its_runs_and_lies_within_their_spread(values: list[float | None]) -> None:
    point = Point.of(1, values)
    known = [value for value in values if value is not None]
    assert point.runs == len(known)
    if known:
        assert point.low == min(known)
        assert point.high == max(known)
        assert point.value == pytest.approx(sum(known) / len(known))
    else:
        assert (point.value, point.low, point.high) == (None, None, None)


def test_a_deviation_needs_both_numbers() -> None:
    rescaling, kuijia = made().lines
    assert [point.deviation for point in (*rescaling.points, *kuijia.points)] == [-0.5, 2.0, None, None]


def test_the_largest_deviation_of_each_line_is_found() -> None:
    ((line, point),) = made().largest_deviations()
    assert (line.label, point.x) == ("rescaling", 1.6)


def test_a_missed_check_is_told_in_words() -> None:
    assert list(made(GOOD, BAD).missed()) == ["fig10 (flow): rescaling at 1.6 is 3, expected at least 5"]
    assert made(GOOD).passed
    assert not made(GOOD, BAD).passed


def test_an_exhibit_comes_back_from_json_as_it_was() -> None:
    data = json.loads(json.dumps(exhibit_to_json(made(GOOD, BAD)), allow_nan=False))
    assert exhibit_from_json(data, "fig10.json") == made(GOOD, BAD)


@pytest.mark.parametrize("data", [[], {}, {"format": "kuijia-exhibit", "version": 1}, {"format": "kuijia-result"}])
def test_what_is_no_exhibit_is_refused(data: object) -> None:
    with pytest.raises(InputError, match=r"fig10\.json(:\w+)?: breaks the schema, expected"):
        exhibit_from_json(data, "fig10.json")


def test_a_lower_bound_is_marked_in_text_and_picture_and_comes_back_from_json() -> None:
    points = (Point.of(0.8, [30.0]), Point(1.6, 20.0, 10.0, 30.0, 2, 8.0, at_least=True))
    exhibit = replace(made(), lines=(Line("rescaling", points),))
    assert [row.cells for row in rows(exhibit)] == [
        ("30", ">= 20"),
        ("30", "10"),
        ("30", ">= 30"),
        ("-", "8"),
        ("-", ">= 12"),
    ]
    data = json.loads(json.dumps(exhibit_to_json(exhibit)))
    assert exhibit_from_json(data, "fig10.json") == replace(exhibit, lines=(Line("rescaling", points),))
    (axes,) = exhibit_figure(exhibit).axes
    (bounds,) = [line for line in axes.lines if line.get_marker() == "^"]
    assert np.asarray(bounds.get_xdata()).tolist() == [1.6]
    for entry in data["lines"][0]["points"]:
        entry.pop("at_least", None)
    assert not exhibit_from_json(data, "fig10.json").line("rescaling").at(1.6).at_least


def test_the_text_has_ours_with_spread_and_the_published_in_columns() -> None:
    assert exhibit_text(made(GOOD, BAD)).splitlines() == [
        "Figure 10: losses [flow]",
        "loss (%), by demand",
        "",
        "                     0.8      1.6",
        "rescaling, here        2        8",
        "  lowest run           1        8",
        "  highest run          3        8",
        "  published         2.50        6",
        "  difference       -0.50        2",
        "kuijia, here           0        -",
        "  published            -     0.50",
        "",
        "ok    loss: 1, expected at most 2",
        "MISS  rescaling at 1.6: 3, expected at least 5",
        "",
        "A remark.",
    ]


def test_points_of_several_runs_keep_each_of_them() -> None:
    several, one = Point.of("a", [3.0, None, 1.0]), Point.of("b", [2.0])
    exhibit = replace(made(), lines=(Line("rescaling", (several, one)),))
    data = json.loads(json.dumps(exhibit_to_json(exhibit)))
    first, second = data["lines"][0]["points"]
    assert first["each"] == [3.0, 1.0]
    assert "each" not in second
    assert exhibit_from_json(data, "fig10.json").line("rescaling").points == (several, one)
