from __future__ import annotations

import json
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_base.quantities import RATE_EXPECTED
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.demand_generators import shortest_path_utilisation
from te_solver.networks import shipped_network

pytestmark = pytest.mark.usefixtures("folder")

GSCALE = load_topology(shipped_network("gscale"))


def run(arguments: str) -> int:
    return main(["demands", *arguments.split()])


@pytest.mark.parametrize(
    ("options", "count", "how"),
    [
        ("gravity", 132, "gravity with the capacity of a node's links as its mass"),
        ("gravity --masses random", 132, "gravity with random masses, seed 7"),
        ("uniform", 132, "uniform, seed 7"),
        ("bimodal --large-share 0.5", 132, "bimodal, 50% of them 4 times as large, seed 7"),
        ("pairs", 5, "5 random pairs with equal demands, seed 7"),
    ],
)
def test_the_file_says_how_it_was_made_and_can_be_solved(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, count: int, how: str
) -> None:
    assert run(f"gscale --model {options} --seed 7 -o made.csv") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.endswith("busiest link on shortest paths: 100.00%\nwrote made.csv\n")
    assert (folder / "made.csv").read_text().splitlines()[0] == (
        f"# Demands for gscale, made by kuijia demands: {how}, scaled to a busiest link at 100% on shortest paths."
    )
    demands = load_demands(folder / "made.csv", GSCALE)
    assert len(demands) == count
    assert shortest_path_utilisation(GSCALE, demands) == pytest.approx(1)
    assert main(["solve", "gscale", "made.csv"]) == 0


def test_the_same_seed_makes_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    made = []
    for seed in ("1", "1", "2"):
        assert run(f"gscale --model bimodal --seed {seed}") == 0
        made.append(capsys.readouterr().out)
    assert made[0] == made[1] != made[2]


def test_a_total_or_a_rate_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("gscale --model uniform --total 500 --json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["total"] == pytest.approx(500)
    assert made["made_by"] == "uniform, seed 1, scaled to 500 Mbit/s in all"
    assert sum(demand["rate"] for demand in made["demands"]) == pytest.approx(500)
    assert run("gscale --model pairs --pairs 3 --rate 800") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("3 random pairs with equal demands, seed 1, 800 Mbit/s each.")
    assert [line.rpartition(",")[2] for line in lines[1:]] == ["rate", "800.0", "800.0", "800.0"]


def test_only_connected_nodes_have_demands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "apart.yaml").write_text("nodes: [a, b, c]\nlinks: [{a: a, b: b, capacity: 8}]")
    assert run("apart.yaml --max-utilisation 0.5") == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["source,target,rate", "a,b,4.0", "b,a,4.0"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("gscale --rate 5", "option:--rate: given for the model gravity, expected --total or --max-utilisation"),
        (
            "gscale --model pairs --pairs 200",
            "gscale: 200 pairs are asked for, expected at most 132, the connected pairs",
        ),
        (
            "gscale -o absent/x.csv",
            "absent/x.csv: cannot be written (No such file or directory), expected a path that can be written to",
        ),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], arguments: str, complaint: str) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"error: {complaint}\n"


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        (
            "--total=nan",
            f"argument --total: 'nan', expected {RATE_EXPECTED}",
        ),
        ("--large-share=1.5", "argument --large-share: '1.5', expected a number from 0 to 1"),
        ("--large-share=x", "argument --large-share: 'x', expected a number from 0 to 1"),
        ("--pairs=0", "argument --pairs: '0', expected a whole number, one or more"),
    ],
)
def test_bad_options_are_one_line(capsys: pytest.CaptureFixture[str], option: str, complaint: str) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["demands", "gscale", option])
    assert raised.value.code == 2
    assert capsys.readouterr().err == f"error: kuijia demands: {complaint}\n"


def test_json_is_printed_demand_by_demand_as_json_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("gscale --json") == 0
    printed = capsys.readouterr().out
    assert printed == json.dumps(json.loads(printed), indent=1, ensure_ascii=False) + "\n"
    assert run("gscale --model pairs --pairs 1 --json") == 0
    assert len(json.loads(capsys.readouterr().out)["demands"]) == 1


def test_a_network_whose_demands_would_be_too_many_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    links = "".join(f"{node} {node + 1} 1 0\n" for node in range(1, 1001))
    (tmp_path / "long.txt").write_text(f"to_node from_node capacity prob_failure\n{links}")
    assert run(f"{tmp_path}/long.txt --model uniform") == 2
    assert capsys.readouterr().err.endswith("long.txt: long has 1001 nodes, expected at most 1000\n")


def test_demands_that_take_long_show_how_far_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kuijia_base.progress.PATIENCE_SECONDS", 0.0)
    assert run(f"gscale -o {tmp_path}/demands.csv") == 0
    assert "of 12 nodes have their demands on shortest paths" in capsys.readouterr().err


def test_a_model_of_ncflow_is_not_scaled(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("gscale --ncflow uniform,most=2 --seed 7 --factor 4 --json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["made_by"] == "NCFlow's uniform model with most 2, seed 7, times 4"
    assert 0 < max(demand["rate"] for demand in made["demands"]) <= 8
