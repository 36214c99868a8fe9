from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.reporting.exhibit_output import exhibit_figure
from experiments.results.exhibit import Exhibit, Line, Point, exhibit_to_json
from experiments.results.result import Check
from experiments.results.stored_files import refuse_unshowable
from kuijia.cli.main import main
from kuijia_base.picture_file import picture_bytes
from tests.cpu_time import at_most

POINT = Point("a", 1.0, 0.5, 2.0, 3, 1.1)
EXHIBIT = Exhibit("fig99", "a title", "Figure 99", "flow", "flow", "goodput (Mbit/s)", (Line("one", (POINT,)),))


def report(folder: Path, change: Mapping[str, Any], capsys: pytest.CaptureFixture[str]) -> str:
    """Return what `kuijia report` complains of in an exhibit with changes, after checking that it wrote nothing."""
    inside = folder / "inside"
    inside.mkdir()
    data = exhibit_to_json(EXHIBIT)
    (inside / "a.json").write_text(json.dumps({**data, **change}).replace('"DIGITS"', "9" * 5000))
    before = sorted(folder.rglob("*"))
    assert main(["report", str(inside)]) == 2
    assert sorted(folder.rglob("*")) == before
    told = capsys.readouterr().err
    assert told.startswith(f"error: {inside}")
    assert told.count("\n") == 1
    assert len(told) <= 520
    return told


def with_point(**changes: object) -> dict[str, Any]:
    point = {**exhibit_to_json(EXHIBIT)["lines"][0]["points"][0], **changes}
    return {"lines": [{"label": "one", "points": [point]}]}


@pytest.mark.parametrize("key", ["name", "backend"])
@pytest.mark.parametrize("text", ["../../x", "/etc/x", "..", ".", "", "a/b", "a\0b", "a\nb", ".hidden", "x" * 300])
def test_a_name_that_leads_out_of_the_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, text: str
) -> None:
    assert f"a.json:{key}: " in report(tmp_path, {key: text}, capsys)


@pytest.mark.parametrize(
    "change",
    [
        with_point(low=5.0),
        with_point(high=0.5),
        with_point(spread=-1.0),
        {"logarithmic": True, **with_point(x=1.0, value=1e308, high=1e308)},
        with_point(value=1e999),
        with_point(x="y" * 10_000),
        with_point(runs="DIGITS"),
        with_point(x="half a character \ud800"),
        {
            "lines": [
                {"label": "one", "points": [{**with_point()["lines"][0]["points"][0], "x": n} for n in range(300)]}
            ]
        },
        {"lines": with_point()["lines"] * 200},
        {"lines": [{"label": "one"}] * 50_000},
        {"title": "t" * 100_000},
        {"remarks": ["r"] * 1000},
        {"checks": [[]]},
        {"manifest": json.loads("[" * 900 + "]" * 900)},
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Mapping[str, Any]
) -> None:
    report(tmp_path, change, capsys)


@pytest.mark.parametrize(("lines", "columns"), [(31, 1), (1, 101), (25, 25)])
def test_an_exhibit_of_more_than_can_be_drawn_in_seconds_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: int, columns: int
) -> None:
    assert "expected at most" in report(tmp_path, exhibit_to_json(filled(lines, columns)), capsys)


def test_points_that_are_each_in_a_column_of_their_own_are_counted_as_the_table_that_they_make(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    point = with_point()["lines"][0]["points"][0]
    lines = [{"label": f"{n}", "points": [{**point, "x": 3 * n + k} for k in range(3)]} for n in range(30)]
    assert "2700 cells of a table" in report(tmp_path, {"lines": lines}, capsys)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "columns", "changes"),
    [
        (30, 20, {}),
        (30, 20, {"logarithmic": True}),
        (6, 100, {"logarithmic": True}),
        (24, 20, {"group": 3, "logarithmic": True}),
        (12, 8, {"mixed": True, "named": True}),
        (30, 10, {"named": True, "logarithmic": True}),
    ],
)
def test_the_largest_exhibits_are_drawn_within_seconds(lines: int, columns: int, changes: dict[str, Any]) -> None:
    exhibit = filled(lines, columns, **changes)
    refuse_unshowable(exhibit, "a.json")
    with at_most(2.5):
        picture_bytes(exhibit_figure(exhibit), ".svg")


def filled(
    lines: int, columns: int, *, group: int = 1, named: bool = False, mixed: bool = False, logarithmic: bool = False
) -> Exhibit:
    """Return an exhibit with a point in every cell and the longest texts."""
    drawn = tuple(
        Line(
            f"g{line // group}, {line} ".ljust(100, "x"),
            tuple(
                Point(f"{x} wwwww" if named else x + 0.5, 1.0 + line * x, 0.5, 1e9, 3, 2.0, at_least=True)
                for x in range(columns)
            ),
        )
        for line in range(lines)
    )
    return replace(EXHIBIT, lines=drawn, mixed=mixed, logarithmic=logarithmic, title="t " * 90, quantity="q " * 90)


def test_exhibits_whose_pictures_are_one_file_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, name in enumerate(("fig 99", "fig-99")):
        (tmp_path / f"{number}.json").write_text(json.dumps(exhibit_to_json(replace(EXHIBIT, name=name))))
    assert main(["report", str(tmp_path)]) == 2
    assert "pictures have the same name" in capsys.readouterr().err


@pytest.mark.parametrize("lines", [[], [{"label": "one", "points": []}]])
def test_an_exhibit_of_columns_with_units_of_their_own_may_be_empty(
    tmp_path: Path, lines: list[dict[str, object]]
) -> None:
    (tmp_path / "a.json").write_text(json.dumps({**exhibit_to_json(EXHIBIT), "mixed": True, "lines": lines}))
    assert main(["report", str(tmp_path)]) == 0


def test_few_panels_are_drawn_however_many_columns_there_are() -> None:
    points = tuple(Point(f"column {number}", 1.0) for number in range(150))
    assert len(exhibit_figure(replace(EXHIBIT, lines=(Line("one", points),), mixed=True)).axes) == 1
    lines = tuple(Line(f"group {number // 2}, {number}", (Point(1.0, 1.0),)) for number in range(90))
    assert len(exhibit_figure(replace(EXHIBIT, lines=lines)).axes) == 1


@pytest.mark.parametrize(
    "point",
    [
        POINT,
        Point("a", 0.1 + 0.2, 0.3, 0.3, 3),
        Point("a", 1.0),
        Point("a", 1.0, 0.0),
        Point("a"),
        Point("$\\frac{$", 1.0, 1.0, 1.0, 1),
        Point(-1e-300, 1e15, -1e15, 1e15, 1),
    ],
)
def test_what_can_be_shown_is(tmp_path: Path, point: Point) -> None:
    exhibit = replace(EXHIBIT, title="cost $", lines=(Line("a $ b", (point,)),), checks=(Check("c", 1.0, None, 2.0),))
    (tmp_path / "a.json").write_text(json.dumps(exhibit_to_json(exhibit)))
    assert main(["report", str(tmp_path)]) == 0
    assert (tmp_path / "fig99-flow.svg").exists()
