from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest

from kuijia.api.solve_effort import SizedFinder
from kuijia.cli.main import main
from kuijia_base.quantities import rate
from te_solver.formats.plan_file import load_plan, plan_from_json
from te_solver.programs.solver import HIGHS_OPTIONS

LINE = "nodes: [a, b, c, d]\nlinks: [{a: a, b: b, capacity: 10}, {a: b, b: c, capacity: 4}]\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test starts in an empty folder with a network, `line.yaml`, and demands for it, `line.csv`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "line.yaml").write_text(LINE)
    (tmp_path / "line.csv").write_text("source,target,rate\na,b,5\na,c,5\n")
    return tmp_path


def solve(arguments: str) -> int:
    return main(["solve", *shlex.split(arguments)])


def summary_lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the output without the line that says how long the solver took."""
    lines = capsys.readouterr().out.splitlines()
    return [line for line in lines if not (line.startswith("HiGHS ") and line.endswith(" ms"))]


def test_the_summary_says_what_was_allocated_and_what_is_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert solve("line.yaml line.csv") == 0
    assert summary_lines(capsys) == [
        "line: 4 nodes, 2 edges, 2 pairs, 2 tunnels",
        "max-throughput: 9 of 10 Mbit/s (90.00%) allocated",
        "",
        "tunnels (share of the pair's traffic, rate, path)",
        "  a -> b: 5 of 5 Mbit/s",
        "    100.00%     5 Mbit/s  a b",
        "  a -> c: 4 of 5 Mbit/s",
        "    100.00%     4 Mbit/s  a b c",
        "",
        "most loaded links",
        "  100.00%  b -> c: 4 of 4 Mbit/s",
        "   90.00%  a -> b: 9 of 10 Mbit/s",
        "",
        "pairs with fewer than 3 edge-disjoint tunnels: 2 of 2",
        "  a -> b: 1 tunnel, 1 edge-disjoint path exists",
        "  a -> c: 1 tunnel, 1 edge-disjoint path exists",
    ]


def test_the_summary_of_a_plan_that_protects_says_what_is_set_aside(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "net.yaml").write_text(
        "nodes: [a, b, c, d]\nlinks: [{a: a, b: b, capacity: 10}, {a: b, b: c, capacity: 9}, "
        "{a: a, b: c, capacity: 9}, {a: c, b: d, capacity: 5}]\n"
    )
    (folder / "net.csv").write_text("source,target,rate,priority\na,b,4,0\na,d,4,0\na,b,20,1\n")
    assert solve("net.yaml net.csv --objective ffc --tunnels 2") == 0
    assert summary_lines(capsys) == [
        "net: 4 nodes, 4 edges, 2 pairs, 4 tunnels",
        "ffc: 9 of 28 Mbit/s (32.14%) allocated",
        "  priority 0: 4 of 8 Mbit/s (50.00%)",
        "  priority 1: 5 of 20 Mbit/s (25.00%)",
        "protected against 1 failed edge: 18 Mbit/s set aside on tunnels",
        "",
        "tunnels (share of the pair's traffic, rate set aside, path)",
        "  a -> b: 4 of 4 Mbit/s",
        "     50.00%     4 Mbit/s  a b",
        "     50.00%     4 Mbit/s  a c b",
        "  a -> d: 0 of 4 Mbit/s",
        "     50.00%     0 Mbit/s  a c d",
        "     50.00%     0 Mbit/s  a b c d",
        "  a -> b, priority 1: 5 of 20 Mbit/s",
        "     50.00%     5 Mbit/s  a b",
        "     50.00%     5 Mbit/s  a c b",
        "",
        "links with the most set aside",
        "  100.00%  c -> b: 9 of 9 Mbit/s",
        "  100.00%  a -> c: 9 of 9 Mbit/s",
        "   90.00%  a -> b: 9 of 10 Mbit/s",
        "",
        "pairs that 1 failed edge can cut off, so that they get nothing: 1",
        "  a -> d",
        "",
        "pairs with fewer than 2 edge-disjoint tunnels: 1 of 2",
        "  a -> d: 2 tunnels, 1 edge-disjoint path exists",
    ]


def test_paths_of_ones_own_may_be_fewer_than_there_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "paths.csv").write_text("source,target,path,share\ns1,s4,s1 s4,1\n")
    assert solve("fig1 fig1 --paths file:paths.csv") == 0
    assert summary_lines(capsys)[-2:] == [
        "pairs with fewer than 3 edge-disjoint tunnels: 1 of 1",
        "  s1 -> s4: 1 tunnel, 3 edge-disjoint paths exist",
    ]


@pytest.mark.parametrize(
    ("objective", "line"),
    [
        ("max-min", "least allocation of a pair: 4 Mbit/s"),
        ("min-max-utilisation", "maximum utilisation: 125.00%"),
    ],
)
def test_each_objective_says_what_it_came_to(capsys: pytest.CaptureFixture[str], objective: str, line: str) -> None:
    assert solve(f"line.yaml line.csv --objective {objective}") == 0
    assert summary_lines(capsys)[2] == line


def test_shipped_networks_are_found_by_name_and_a_file_of_that_name_comes_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert solve("fig1 fig1") == 0
    summary = capsys.readouterr().out
    assert "fig1: 4 nodes, 5 edges, 1 pair, 3 tunnels\n" in summary
    assert "     33.33%     1 Gbit/s  s1 s4\n" in summary
    assert "edge-disjoint" not in summary
    (folder / "fig1").write_text(LINE)
    assert solve("fig1 line.csv") == 0
    assert "fig1: 4 nodes, 2 edges" in capsys.readouterr().out


def test_a_long_summary_is_cut_unless_asked_for_in_full(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [str(number) for number in range(1, 13)]
    (folder / "many.csv").write_text("source,target,rate\n" + "".join(f"{node},1,1\n" for node in nodes[1:]))
    assert solve("gscale many.csv") == 0
    assert "  ... and 1 pair more; -v shows all\n" in capsys.readouterr().out
    assert solve("gscale many.csv -v") == 0
    assert "more" not in capsys.readouterr().out


def test_without_traffic_the_summary_still_stands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "idle.csv").write_text("source,target,rate\na,b,0\n")
    assert solve("line.yaml idle.csv") == 0
    summary = capsys.readouterr().out
    assert "max-throughput: 0 of 0 Mbit/s allocated\n" in summary
    assert "  no link carries traffic\n" in summary


def test_compiled_code_prints_nothing_beside_json(capfd: pytest.CaptureFixture[str]) -> None:
    assert solve("line.yaml line.csv --json") == 0
    assert capfd.readouterr().out.startswith("{")


def test_json_is_the_plan_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert solve("line.yaml line.csv --json -o plan.json --plot plan.png") == 0
    printed = capsys.readouterr().out
    assert plan_from_json(json.loads(printed), "stdout") == load_plan(Path("plan.json"))


def test_the_plan_is_written_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert solve("fig1 fig1 --tunnels 2 --objective max-throughput -o plan.json --plot net.svg") == 0
    assert capsys.readouterr().out.endswith("wrote net.svg\nwrote plan.json\n")
    assert [tunnel.nodes for tunnel in load_plan(Path("plan.json")).tunnels] == [("s1", "s4"), ("s1", "s2", "s4")]
    assert Path("net.svg").read_text().startswith("<?xml")


def test_options_reach_the_program() -> None:
    assert solve("fig1 fig1 --objective ffc --protect 2 --spread --solver clarabel -o plan.json") == 0
    plan = load_plan(Path("plan.json"))
    assert plan.solver.startswith("CLARABEL ")
    assert plan.protected_failures == 2
    assert plan.objective_value == pytest.approx(1000)


@pytest.mark.slow
def test_a_plan_made_in_parts_tells_how_much_it_may_lack(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = permutations(range(1, 13), 2)
    (folder / "all.csv").write_text("source,target,rate\n" + "".join(f"{a},{b},{50 * a}\n" for a, b in pairs))
    assert solve("gscale all.csv --partitions 2 -o plan.json --reproducible") == 0
    plan = load_plan(Path("plan.json"))
    assert plan.upper_bound is not None
    assert 0.985 * plan.upper_bound <= plan.objective_value <= plan.upper_bound * (1 + 1e-6)
    assert f"below the optimum: {rate(plan.upper_bound)} is an upper bound\n" in capsys.readouterr().out
    assert solve("gscale all.csv --partitions 2 -o again.json --reproducible") == 0
    assert Path("again.json").read_bytes() == Path("plan.json").read_bytes()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("--objective max-min", "max-min is not solved in parts, expected --objective max-throughput"),
        ("--spread", "parts with traffic spread over all tunnels, expected one or the other"),
        ("--solver clarabel", "parts solved by CLARABEL, expected solver HIGHS"),
    ],
)
def test_what_cannot_be_done_in_parts_is_refused_before_tunnels_are_sought(
    options: str, complaint: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(SizedFinder, "tunnels_of_pairs")
    assert solve(f"gscale gscale --partitions 2 {options}") == 2
    assert capsys.readouterr().err == f"error: option:--partitions: {complaint}\n"


def test_spread_uses_all_tunnels_of_light_traffic(folder: Path) -> None:
    (folder / "light.csv").write_text("source,target,rate\ns1,s4,300\n")
    assert solve("fig1 light.csv --spread -o plan.json") == 0
    assert [tunnel.rate for tunnel in load_plan(Path("plan.json")).tunnels] == pytest.approx([100] * 3)


def test_tunnels_are_chosen_as_asked_for(folder: Path) -> None:
    (folder / "slow.yaml").write_text(
        "nodes: [a, b, c]\nlinks: [{a: a, b: c, capacity: 1, delay: 9}, {a: a, b: b, capacity: 9, delay: 1}, "
        "{a: b, b: c, capacity: 9, delay: 1}]\n"
    )
    for options, nodes in (("", ("a", "c")), ("--tunnel-weight delay --node-disjoint", ("a", "b", "c"))):
        assert solve(f"slow.yaml line.csv --tunnels 1 {options} -o plan.json") == 0
        assert load_plan(Path("plan.json")).pairs[1].tunnels[0].nodes == nodes


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["max-throughput", "max-min", "ffc", "min-max-utilisation"])
def test_the_same_input_gives_the_same_bytes_in_another_process(objective: str, folder: Path) -> None:
    repository = Path(__file__).parents[2]
    command = [sys.executable, "-m", "kuijia", "solve", "gscale", "gscale", "--reproducible"]
    for run in ("1", "2"):
        subprocess.run(
            [*command, "--objective", objective, "-o", f"{run}.json", "--plot", f"{run}.svg"],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": run, "PYTHONPATH": str(repository)},
            stdout=subprocess.DEVNULL,
        )
    assert (folder / "1.json").read_bytes() == (folder / "2.json").read_bytes()
    assert (folder / "1.svg").read_bytes() == (folder / "2.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("absent line.csv", "absent: no such file or shipped network, expected a file or one of fig1, gscale"),
        ("absent.yaml line.csv", "absent.yaml: cannot be read (No such file or directory), expected a topology file"),
        ("line.yaml absent.csv", "absent.csv: cannot be read (No such file or directory), expected a demand file"),
        ("line.yaml bad.csv", "bad.csv:2: unknown node 'x', expected a node of line"),
        (
            "line.yaml apart.csv",
            (
                "apart.csv:2: no path from a to d, nor for 1 other demand, "
                "expected demands between connected nodes of line, or --drop-unreachable"
            ),
        ),
        (
            "line.yaml line.csv -o absent/plan.json",
            "absent/plan.json: cannot be written (there is no folder absent), expected a path that can be written to",
        ),
        (
            "line.yaml line.csv --objective ffc",
            (
                "option:--objective: every pair can be cut off by 1 failed edge, "
                "expected tunnels that have no edge in common"
            ),
        ),
        (
            "fig1 fig1 --objective ffc --protect 3",
            "option:--protect: every pair can be cut off by 3 failed edges, expected at most 2",
        ),
        (
            "line.yaml line.csv --protect 1",
            "option:--protect: max-throughput protects against nothing, expected --objective ffc",
        ),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_plan(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: str, complaint: str
) -> None:
    (folder / "bad.csv").write_text("source,target,rate\na,x,1\n")
    (folder / "apart.csv").write_text("source,target,rate\na,d,1\na,b,1\nd,b,1\n")
    assert solve(f"-o plan.json {arguments}") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"error: {complaint}\n"
    assert not (folder / "plan.json").exists()


def test_an_unknown_solver_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert solve("line.yaml line.csv --solver fast -o plan.json") == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("error: option:--solver: solver 'fast' is not installed, expected one of CLARABEL, ")
    assert complaint.count("\n") == 1


def test_a_solver_that_gives_up_leaves_no_plan(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(HIGHS_OPTIONS, "presolve", "off")
    monkeypatch.setitem(HIGHS_OPTIONS, "simplex_iteration_limit", 0)
    assert solve("fig1 fig1 -o plan.json --plot plan.png") == 1
    assert capsys.readouterr().err == "error: HiGHS gave up with status user_limit, no plan was made\n"
    assert not list(Path().glob("plan*"))


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("--tunnels 0", "argument --tunnels: '0' tunnels per pair, expected a whole number from 1 to 64"),
        ("--tunnels 65", "argument --tunnels: '65' tunnels per pair, expected a whole number from 1 to 64"),
        ("--tunnels two", "argument --tunnels: 'two' tunnels per pair, expected a whole number from 1 to 64"),
        ("--protect 0", "argument --protect: '0', expected a whole number from 1 to 15"),
        ("--protect all", "argument --protect: 'all', expected a whole number from 1 to 15"),
        ("--plot net.jpg", "argument --plot: 'net.jpg', expected a name that ends in .png, .svg, .pdf"),
        ("--objective fame", "argument --objective: invalid choice: 'fame' (choose from "),
    ],
)
def test_bad_options_are_one_line(capsys: pytest.CaptureFixture[str], option: str, complaint: str) -> None:
    with pytest.raises(SystemExit) as raised:
        solve(f"line.yaml line.csv {option}")
    assert raised.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"error: kuijia solve: {complaint}")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("-o p.json --plot nowhere/p.png", "nowhere/p.png: cannot be written (there is no folder "),
        (
            "-o same.png --plot same.png",
            "same.png: is used twice by this command, expected a different file",
        ),
        ("-o line.yaml", "line.yaml: is used twice by this command, expected a different file"),
        ("--plot line.svg -o ./line.csv", "line.csv: is used twice by this command, expected a different"),
        ("-o .", ".: is a folder, expected a path that can be written to"),
    ],
)
def test_files_that_cannot_all_be_written_leave_none(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, complaint: str
) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert solve(f"line.yaml line.csv {options}") == 2
    assert capsys.readouterr().err.startswith(f"error: {complaint}")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.slow
def test_classes_solved_in_parts_claim_no_bound(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "classes.csv").write_text("source,target,rate,priority\n1,11,900,0\n1,11,800,1\n3,12,700,2\n")
    assert solve("gscale classes.csv --partitions 2") == 0
    printed = capsys.readouterr().out
    assert "upper bound" not in printed
    assert "loss by solving in parts: unknown for several classes of traffic" in printed


@pytest.mark.parametrize("name", ["x" * 300, "x" * 300 + ".csv"])
def test_names_too_long_for_a_file_are_refused(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert solve(f"line.yaml {name}") == 2
    captured = capsys.readouterr().err
    assert captured.startswith(f"error: {name}: ")
    assert captured.count("\n") == 1


def test_an_error_stands_without_notes_on_what_was_assumed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "apart.csv").write_text("source,target,rate\na,d,5\n")
    assert solve("line.yaml apart.csv --drop-unreachable") == 2
    expected = "error: apart.csv: no demand between connected nodes, expected one on line\n"
    assert capsys.readouterr().err == expected


def test_a_full_disk_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with Path("/dev/full").open("w") as full, monkeypatch.context() as changed:
        changed.setattr(sys, "stdout", full)
        assert solve("line.yaml line.csv") == 1
    assert capsys.readouterr().err == "error: No space left on device\n"


@pytest.mark.parametrize("verb", ["solve", "whatif"])
def test_work_on_a_large_network_is_announced_before_its_tunnels_are_sought(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    links = ", ".join(f"{{a: n{n}, b: n{n + 1}, capacity: 10}}" for n in range(5000))
    (tmp_path / "chain.yaml").write_text(f"nodes: [{', '.join(f'n{n}' for n in range(5001))}]\nlinks: [{links}]\n")
    (tmp_path / "demands.csv").write_text("source,target,rate\nn0,n1,5\n")
    said: list[str] = []

    def stop(*_: object, **__: object) -> None:
        said.append(capsys.readouterr().err)
        raise KeyboardInterrupt

    monkeypatch.setattr("kuijia.api.solving.finder_by", stop)
    assert main([verb, str(tmp_path / "chain.yaml"), str(tmp_path / "demands.csv")]) == 130
    assert said == ["preparing 10,000 links\n"]


@pytest.mark.parametrize(
    ("objective", "line"),
    [
        ("max-concurrent", "share that all demands can have: 125.00%"),
        ("flexile:beta=0.9", "loss of each pair at the percentile, at most: 0%"),
        ("smore", "maximum utilisation: 80.00%"),
    ],
)
def test_the_summary_states_the_value_of_an_objective(
    objective: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert solve(f"gscale gscale --tunnels 4 --objective {objective}") == 0
    assert line in capsys.readouterr().out.splitlines()
