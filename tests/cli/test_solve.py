from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from kuijia_app.cli.main import main
from te_solver.plan_file import load_plan, plan_from_json

LINE = "nodes: [a, b, c, d]\nlinks: [{a: a, b: b, capacity: 10}, {a: b, b: c, capacity: 4}]\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test starts in an empty folder with a network, `line.yaml`, and demands for it, `line.csv`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "line.yaml").write_text(LINE)
    (tmp_path / "line.csv").write_text("source,target,rate\na,b,5\na,c,5\n")
    return tmp_path


def test_the_summary_says_what_was_allocated_and_what_is_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "line.yaml", "line.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    timing = lines.pop(2)
    assert timing.startswith("HiGHS ")
    assert timing.endswith(" ms")
    assert lines == [
        "line: 4 nodes, 2 edges, 2 pairs, 2 tunnels",
        "max-throughput: 9 of 10 Mbit/s (90.0%) allocated",
        "",
        "tunnels (share of the pair's traffic, Mbit/s, path)",
        "  a -> b: 5 of 5 Mbit/s",
        "    100.0%          5  a b",
        "  a -> c: 4 of 5 Mbit/s",
        "    100.0%          4  a b c",
        "",
        "most loaded links",
        "  100.0%  b -> c: 4 of 4 Mbit/s",
        "   90.0%  a -> b: 9 of 10 Mbit/s",
        "",
        "pairs with fewer than 3 edge-disjoint tunnels: 2 of 2",
        "  a -> b: 1 of its 1 tunnels are edge-disjoint",
        "  a -> c: 1 of its 1 tunnels are edge-disjoint",
    ]


def test_shipped_networks_are_found_by_name_and_a_file_of_that_name_comes_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", "fig1", "fig1"]) == 0
    summary = capsys.readouterr().out
    assert "fig1: 4 nodes, 5 edges, 1 pair, 3 tunnels\n" in summary
    assert "     33.3%       1000  s1 s4\n" in summary
    assert "edge-disjoint" not in summary
    (folder / "fig1").write_text(LINE)
    assert main(["solve", "fig1", "line.csv"]) == 0
    assert "fig1: 4 nodes, 2 edges" in capsys.readouterr().out


def test_a_long_summary_is_cut_unless_asked_for_in_full(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [str(number) for number in range(1, 13)]
    (folder / "many.csv").write_text("source,target,rate\n" + "".join(f"{node},1,1\n" for node in nodes[1:]))
    assert main(["solve", "gscale", "many.csv"]) == 0
    assert "  ... and 1 pair more; -v shows all\n" in capsys.readouterr().out
    assert main(["solve", "gscale", "many.csv", "-v"]) == 0
    assert "more" not in capsys.readouterr().out


def test_without_traffic_the_summary_still_stands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "idle.csv").write_text("source,target,rate\na,b,0\n")
    assert main(["solve", "line.yaml", "idle.csv"]) == 0
    summary = capsys.readouterr().out
    assert "max-throughput: 0 of 0 Mbit/s allocated\n" in summary
    assert "  no link carries traffic\n" in summary


def test_json_is_the_plan_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "line.yaml", "line.csv", "--json", "-o", "plan.json"]) == 0
    printed = capsys.readouterr().out
    assert plan_from_json(json.loads(printed), "stdout") == load_plan(Path("plan.json"))


def test_the_plan_is_written_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split("solve fig1 fig1 --tunnels 2 --objective max-throughput -o plan.json")) == 0
    assert capsys.readouterr().out.endswith("wrote plan.json\n")
    assert [tunnel.nodes for tunnel in load_plan(Path("plan.json")).tunnels] == [("s1", "s4"), ("s1", "s2", "s4")]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("absent line.csv", "absent: no such file or shipped network, expected a file or one of fig1, gscale"),
        ("absent.yaml line.csv", "absent.yaml: cannot be read (No such file or directory), expected a topology file"),
        ("line.yaml absent.csv", "absent.csv: cannot be read (No such file or directory), expected a demand file"),
        ("line.yaml bad.csv", "bad.csv:2: unknown node 'x', expected a node of line"),
        ("line.yaml apart.csv", "apart.csv: no path from a to d, expected demands between connected nodes of line"),
        ("line.yaml classes.csv", "classes.csv: priorities 0, 1, expected the same priority for all demands"),
        (
            "line.yaml line.csv -o absent/plan.json",
            "absent/plan.json: cannot be written (No such file or directory), expected a path that can be written to",
        ),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_plan(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: str, complaint: str
) -> None:
    (folder / "bad.csv").write_text("source,target,rate\na,x,1\n")
    (folder / "classes.csv").write_text("source,target,rate,priority\na,b,1,0\na,b,1,1\n")
    (folder / "apart.csv").write_text("source,target,rate\na,d,1\n")
    assert main(["solve", "-o", "plan.json", *arguments.split()]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"error: {complaint}\n"
    assert not (folder / "plan.json").exists()


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("--tunnels 0", "argument --tunnels: '0' tunnels per pair, expected a whole number from 1 to 16"),
        ("--tunnels 17", "argument --tunnels: '17' tunnels per pair, expected a whole number from 1 to 16"),
        ("--tunnels two", "argument --tunnels: 'two' tunnels per pair, expected a whole number from 1 to 16"),
        ("--objective fame", "argument --objective: invalid choice: 'fame' (choose from 'max-throughput')"),
    ],
)
def test_bad_options_are_one_line(capsys: pytest.CaptureFixture[str], option: str, complaint: str) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["solve", "line.yaml", "line.csv", *option.split()])
    assert raised.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"error: kuijia solve: {complaint}\n"
