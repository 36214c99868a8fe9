from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import pytest

import kuijia
from kuijia_base.quantities import RATE_EXPECTED


def test_tuples_a_mapping_and_demands_mean_the_same() -> None:
    listed = kuijia.load_demands([("s1", "s4", "0.01G"), ("s2", "s3", 5, 1)], "fig1")
    assert listed == (kuijia.Demand("s1", "s4", 10.0), kuijia.Demand("s2", "s3", 5.0, 1))
    assert kuijia.load_demands(listed, "fig1") == listed
    assert kuijia.load_demands({("s1", "s4"): 10}, "fig1") == listed[:1]
    assert repr(listed) == "Demands(2 demands, 15 Mbit/s)"


def test_scaled_demands_keep_their_ends_and_priorities() -> None:
    twice = kuijia.load_demands([("s2", "s3", 5, 1)], "fig1").scaled(2)
    assert list(twice) == [kuijia.Demand("s2", "s3", 10.0, 1)]
    assert twice.total == 10


def test_demands_are_saved_as_csv_and_read_again(tmp_path: Path) -> None:
    demands = kuijia.load_demands("gscale", "gscale")
    assert kuijia.load_demands(demands.save(tmp_path / "copy.csv"), "gscale") == demands


@pytest.mark.parametrize(
    ("demands", "message"),
    [
        ([], "demands: there is no demand, expected at least one"),
        ([("s1", "s4")], "demands:[0]: 2 values, expected source, target, rate and perhaps priority"),
        ([("s1", "s9", 1)], "demands:[0]: unknown node 's9', expected a node of fig1"),
        ([("s1", "s4", "1.2TB")], f"demands:[0]: rate '1.2TB' is not a number, expected {RATE_EXPECTED}"),
        ([("s1", "s4", 1, "2k")], "demands:[0]: priority '2k' is not a number, expected a number"),
        ([("s1", "s4", 1, 0.5)], "demands:[0]: priority 0.5, expected a whole number, zero or more"),
        ([("s1", "s4", 1, float("nan"))], "demands:[0]: priority nan, expected a whole number, zero or more"),
        ([("s1", "s1", 1)], "demands:[0]: a demand from 's1' to itself, expected two different nodes"),
        (
            [("s1", "s4", 1), ("s1", "s4", 2)],
            "demands:[1]: a second demand from s1 to s4 with priority 0, expected one for each source, target",
        ),
        ({"s1": 3}, "demands: 's1' is not a pair of nodes, expected (source, target) as keys"),
        ([3], "demands:[0]: found 'int', expected demands, or tuples of source, target and rate"),
        (3, "demands: 'int' holds no demands, expected a file, a name, a list, a mapping or a data frame"),
    ],
)
def test_bad_demands_are_refused_in_one_line_with_their_place(demands: list[Any], message: str) -> None:
    with pytest.raises(kuijia.InputError) as raised:
        kuijia.load_demands(demands, "fig1")
    assert str(raised.value).startswith(message)


def test_unreachable_demands_are_refused_or_left_out_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "parts.yaml").write_text(
        "nodes: [a, b, c, d]\nlinks: [{a: a, b: b, capacity: 1}, {a: c, b: d, capacity: 1}]"
    )
    parts = kuijia.load_topology(tmp_path / "parts.yaml")
    asked = [("a", "b", 1.0), ("a", "c", 2.0)]
    with pytest.raises(kuijia.InputError) as raised:
        kuijia.load_demands(asked, parts)
    assert str(raised.value) == (
        "demands:[1]: no path from a to c, expected demands between connected nodes of parts, or drop_unreachable=True"
    )
    kept = kuijia.load_demands(asked, parts, drop_unreachable=True)
    assert list(kept) == [kuijia.Demand("a", "b", 1.0)]
    assert kept.notes == ("1 demand between nodes that are not connected left out:", "  a to c: 2 Mbit/s")


def test_demands_are_made_as_the_command_makes_them(tmp_path: Path) -> None:
    from kuijia.cli.main import main  # noqa: PLC0415

    file = tmp_path / "demands.csv"
    assert main(["demands", "fig1", "--model", "bimodal", "--total", "500", "--seed", "7", "-o", str(file)]) == 0
    made = kuijia.make_demands("fig1", "bimodal", total=500, seed=7)
    assert made == kuijia.load_demands(file, "fig1")
    assert made.notes == ("bimodal, 20% of them 4 times as large, seed 7, scaled to 500 Mbit/s in all",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "fractal"}, "option:model: 'fractal' is unknown, expected one of gravity, uniform, bimodal, pairs"),
        ({"rate": 3}, "option:rate: given for the model gravity, expected total or max_utilisation"),
        ({"total": 3, "max_utilisation": 1}, "option:rate: several scales, expected one of rate, total and max"),
        ({"large_share": 2}, "option:large_share: '2', expected a number from 0 to 1"),
        ({"seed": -1}, "option:seed: '-1', expected a whole number from 0 on"),
    ],
)
def test_bad_options_of_a_model_are_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(kuijia.InputError) as raised:
        kuijia.make_demands("fig1", **options)
    assert str(raised.value).startswith(message)


def test_a_data_frame_of_demands_goes_out_and_in_and_so_does_a_matrix() -> None:
    pandas = pytest.importorskip("pandas")
    demands = kuijia.load_demands([("s1", "s4", 10), ("s2", "s3", 5, 1)], "fig1")
    frame = demands.to_frame()
    assert list(frame.columns) == ["source", "target", "rate_mbps", "priority"]
    assert kuijia.load_demands(frame, "fig1") == demands
    nodes = ["s1", "s2"]
    matrix = pandas.DataFrame([[0, 3.5], [0, 0]], index=nodes, columns=nodes)
    assert kuijia.load_demands(matrix, "fig1") == (kuijia.Demand("s1", "s2", 3.5),)


def test_a_missing_rate_of_a_matrix_is_refused_with_its_place() -> None:
    pandas = pytest.importorskip("pandas")
    matrix = pandas.DataFrame({1: [0, 5], 2: [None, 0]}, index=[1, 2], dtype="Int64")
    network = kuijia.load_topology(pandas.DataFrame({"source": [1], "target": [2]}))
    with pytest.raises(kuijia.InputError, match=r"^data frame:1, 2: rate is empty, expected a value$"):
        kuijia.load_demands(matrix, network)
    assert kuijia.load_demands(matrix.fillna(0), network) == (kuijia.Demand("2", "1", 5.0),)


def test_demands_are_neither_repeated_nor_scaled_by_a_factor() -> None:
    demands = kuijia.load_demands([("s1", "s4", 10)], "fig1")
    for multiply in (operator.mul, lambda left, right: right * left):
        with pytest.raises(TypeError, match=r"demands times 2: use demands\.scaled\(2\)"):
            multiply(demands, 2)
    assert demands.scaled(2).total == 20
