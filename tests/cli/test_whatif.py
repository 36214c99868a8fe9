"""`kuijia whatif` on allocations: its summary, its files, and words about options that do not fit."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest

from kuijia.cli.main import main
from te_solver.formats.plan_file import plan_to_json
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.networks import shipped_network
from te_solver.solve import solve
from tests.docs.schemas import validator

pytestmark = pytest.mark.usefixtures("folder")


def whatif(*arguments: str) -> int:
    return main(["whatif", *arguments])


def test_the_summary_sets_the_schemes_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    # Links of 1000 are full: 1000 of 3000 are lost, under Kuijia by the victims, else by half of what they meet.
    assert whatif("fig1", "fig1", "--schemes", "kuijia,rescaling", "--failures", "links") == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "fig1: 5 failures, 1 pair"
    assert lines[4].split() == [
        "kuijia",
        "3",
        "Gbit/s",
        "33.33%",
        "0%",
        "33.33%",
        "33.33%",
        "100.00%",
        "0%",
        "0%",
        "0%",
        "0%",
    ]
    assert lines[5].split() == [
        "rescaling",
        "3",
        "Gbit/s",
        "33.33%",
        "0%",
        "33.33%",
        "33.33%",
        "0%",
        "50.00%",
        "0%",
        "0%",
        "50.00%",
    ]
    # Half of the capacity of ten links carries something; victims are a third of what is sent.
    assert lines[9].split() == ["kuijia", "2", "Gbit/s", "2", "Gbit/s", "33.33%", "33.33%", "3.2", "4", "50.00%"]
    assert "  33.33%  s2-s4: victims 1 of 1 Gbit/s, others 0 of 2 Gbit/s" in lines
    assert "  33.33%  s2-s4: victims 0 of 1 Gbit/s, others 1 of 2 Gbit/s" in lines
    assert printed.err == ""


def test_only_the_worst_failures_are_named_unless_all_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("gscale", "gscale", "--schemes", "kuijia") == 0
    assert "  and 5 more with losses (-v lists all)" in capsys.readouterr().out.splitlines()
    assert whatif("gscale", "gscale", "--schemes", "kuijia", "-v") == 0
    assert "more with losses" not in capsys.readouterr().out


def test_pairs_without_a_tunnel_that_a_path_connects_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("gscale", "gscale", "--schemes", "kuijia", "--failures", "pairs", "--json") == 0
    pairs = json.loads(capsys.readouterr().out)["pairs"]
    assert pairs["without_tunnel"] > 0 == pairs["without_path"]
    assert whatif("gscale", "gscale", "--schemes", "kuijia", "--failures", "pairs") == 0
    counted = f"of {pairs['connected']:,} pairs that failures leave connected, {pairs['without_tunnel']:,} ("
    assert any(line.startswith(counted) for line in capsys.readouterr().out.splitlines())


def test_what_recompute_withholds_from_untouched_traffic_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    # Of gscale's traffic none is lost by sharing links, but some is no longer let in.
    assert whatif("gscale", "gscale", "--schemes", "recompute") == 0
    direct, indirect, untouched, worst = capsys.readouterr().out.splitlines()[4].split()[-4:]
    assert (direct, indirect, worst) == ("0%", "0%", "14.29%")
    assert float(untouched.rstrip("%")) > 0


def test_ffc_sends_less_and_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("fig1", "fig1", "--schemes", "ffc") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[4].split()[:4] == ["ffc", "2", "Gbit/s", "0%"]
    assert lines[-1] == "  nothing is lost in 5 of 5"


def test_each_class_has_its_figures_when_there_are_several(capsys: pytest.CaptureFixture[str]) -> None:
    Path("two.csv").write_text("source,target,rate,priority\ns1,s4,1200,0\ns1,s4,1800,1\n")
    assert whatif("fig1", "two.csv", "--schemes", "kuijia", "--json") == 0
    (scheme,) = json.loads(capsys.readouterr().out)["schemes"]
    assert [(each["priority"], each["sent"]) for each in scheme["classes"]] == [(0, 1200), (1, 1800)]
    assert whatif("fig1", "two.csv", "--schemes", "kuijia") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("class")] == ["class 0", "class 1"]
    rows = [line.split()[1] for line in lines if line.startswith("kuijia ")]
    assert rows[:3] == ["3", "1.2", "1.8"]


def test_the_worst_failures_are_ranked_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("gscale", "gscale", "--schemes", "recompute", "--json") == 0
    (scheme,) = json.loads(capsys.readouterr().out)["schemes"]
    losses = [each["lost"] for each in scheme["worst"]]
    assert len(losses) == 19
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == pytest.approx(scheme["all"]["lost_worst"])


def test_a_plan_is_examined_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    data = plan_to_json(solve(load_topology(shipped_network("fig1")), [Demand("s1", "s4", 2000)], 2))
    Path("plan.json").write_text(json.dumps(data))
    assert whatif("--plan", "plan.json", "--schemes", "kuijia,ffc", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(each["name"], each["objective"], each["sent"]) for each in found["schemes"]] == [
        ("kuijia", "max-throughput", 2000),
        ("ffc", "ffc", 1000),
    ]
    assert found["provenance"]["command"].startswith("kuijia whatif --plan plan.json --schemes kuijia,ffc ")
    data["pairs"][0]["allocated"] = 9000
    Path("plan.json").write_text(json.dumps(data))
    assert whatif("--plan", "plan.json") == 2
    assert capsys.readouterr().err.startswith("error: plan.json:pairs[0].allocated: 9000 Mbit/s allocated, expected no")


def test_the_plan_has_the_objective_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    Path("demands.csv").write_text("source,target,rate\ns1,s4,900\n")
    chosen: list[tuple[str, ...]] = [
        ("--objective", "min-max-utilisation"),
        ("--partitions", "2"),
        ("--node-disjoint",),
    ]
    for options in chosen:
        assert whatif("fig1", "demands.csv", "--schemes", "kuijia", "--json", *options) == 0
        data = json.loads(capsys.readouterr().out)
        objective = options[1] if options[0] == "--objective" else "max-throughput"
        assert (data["schemes"][0]["objective"], data["schemes"][0]["sent"]) == (objective, pytest.approx(900))
        assert " ".join(options) in data["provenance"]["command"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "kuijia whatif: TOPOLOGY missing, expected TOPOLOGY and DEMANDS, or a plan"),
        (
            ("fig1", "fig1", "--plan", "p"),
            "option:--plan: the plan has a topology and demands itself, expected neither",
        ),
        (("--plan", "p", "--tunnels", "2"), "option:--tunnels: the plan has its tunnels and rates, expected --plan"),
        (("--plan", "p", "--node-disjoint"), "option:--node-disjoint: the plan has its tunnels and rates, expected"),
        (("--plan", "none.json"), "none.json: cannot be read"),
        (
            ("fig1", "fig1", "--objective", "max-min", "--partitions", "2"),
            "option:--partitions: max-min is not solved in parts, expected --objective max-throughput",
        ),
        (
            ("fig1", "fig1", "--probabilities", "topology"),
            "option:--probabilities: the file of fig1 has no failure probabilities, expected a topology of TEAVAR",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert whatif(*arguments) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")


def test_recompute_may_find_new_tunnels(capsys: pytest.CaptureFixture[str]) -> None:
    lost = []
    for options in ((), ("--new-tunnels",)):
        assert whatif("gscale", "gscale", "--schemes", "recompute", "--tunnels", "2", "--json", *options) == 0
        lost.append(json.loads(capsys.readouterr().out)["schemes"][0]["all"]["lost"])
    assert lost[1] < lost[0]


@pytest.mark.slow
def test_switches_programmed_beforehand_divide_victims_of_two_tunnels_otherwise() -> None:
    Path("skewed.yaml").write_text(
        "nodes: [a, b, c, d, e, z]\nlinks:\n"
        + "".join(
            f"  - {{a: {a}, b: {b}, capacity: {capacity}}}\n"
            for a, b, capacity in (("a", "b", 400), ("a", "c", 300), ("a", "d", 200), ("a", "e", 100))
        )
        + "".join(f"  - {{a: {middle}, b: z, capacity: 1000}}\n" for middle in "bcde")
    )
    Path("skewed.csv").write_text("source,target,rate\na,z,1000\n")
    for split in ("proportional", "failover-order"):
        options = ("--tunnels", "4", "--failures", "pairs", "--schemes", "kuijia", "--split", split, "-o", split)
        assert whatif("skewed.yaml", "skewed.csv", *options) == 0
    assert Path("proportional", "whatif.csv").read_text() != Path("failover-order", "whatif.csv").read_text()


@pytest.mark.slow
def test_json_and_csv_hold_every_outcome(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("fig1", "fig1", "--schemes", "kuijia,precomputed", "--failures", "nodes", "-o", "out", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads((folder / "out" / "whatif.json").read_text())
    assert list(validator("whatif").iter_errors(data)) == []
    assert [outcome["failure"] for outcome in data["outcomes"]] == ["s1", "s2", "s3", "s4"] * 2
    rows = list(csv.DictReader((folder / "out" / "whatif.csv").open()))
    assert len(rows) == 8 * 5
    cut_off = [row for row in rows if row["failure"] == "s1" and row["role"] == "victim"]
    assert [float(row["failure_loss"]) for row in cut_off] == [3000, 3000]


@pytest.mark.slow
def test_the_same_question_has_the_same_answer() -> None:
    for folder in ("one", "other"):
        assert whatif("fig1", "fig1", "-o", folder) == 0
    pictures = [
        f"loss-{name}.{suffix}" for name in ("distribution", "ranked", "and-vacancy") for suffix in ("svg", "pdf")
    ]
    assert sorted(os.listdir("one")) == sorted(["whatif.csv", "whatif.html", "whatif.json", *pictures])  # noqa: PTH208
    for name in os.listdir("one"):  # noqa: PTH208  # names only
        assert Path("one", name).read_bytes() == Path("other", name).read_bytes()


@pytest.mark.slow
def test_the_report_tells_how_it_is_made_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("fig1", "fig1", "--schemes", "kuijia", "--failures", "pairs", "--sample", "4", "-o", "out") == 0
    page = Path("out", "whatif.html").read_text()
    command = (
        "kuijia whatif fig1 fig1 --tunnels 3 --paths disjoint --schemes kuijia --failures pairs --sample 4 --seed 1 "
        "--split proportional --weighting equal"
    )
    assert command in page
    assert json.loads(Path("out", "whatif.json").read_text())["provenance"]["command"] == command
    capsys.readouterr()
    assert whatif(*command.split()[2:], "-o", "again") == 0
    assert Path("again", "whatif.html").read_text() == page


def test_udp_loses_in_proportion(capsys: pytest.CaptureFixture[str]) -> None:
    # A third of 1500 on each of two links: aboriginal traffic loses as large a part as the victims.
    assert whatif("fig1", "fig1", "--schemes", "rescaling", "--udp") == 0
    assert capsys.readouterr().out.splitlines()[4].split()[7] == "33.33%"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--schemes", "kuijia,magic"), "option:--schemes: 'magic' is unknown, expected one of kuijia,"),
        (
            ("--schemes", "kuija"),
            "option:--schemes: 'kuija' is unknown (did you mean kuijia?), expected one of kuijia,",
        ),
        (
            ("--failures", "ducts"),
            "option:--failures: 'ducts' is unknown, expected links, pairs, nodes, A-B or a node of fig1, or a CSV file",
        ),
        (("--failures", "s3,s2-s04"), "option:--failures: 's2-s04' is unknown (did you mean s2-s4?), expected links,"),
        (("--failures", "s3,s3"), "option:--failures: 's3,s3' has a link or node twice, expected each once"),
        (
            ("--failures", "s3,links"),
            "option:--failures: the kind links beside single links or nodes, expected one or the other",
        ),
        (("--failures", "links,links"), "option:--failures: 'links,links' has a kind twice, expected each kind once"),
        (("--sample", "0"), "kuijia whatif: argument --sample: '0', expected a whole number, one or more"),
        (("--protect", "3"), "option:--protect: every pair can be cut off by 3 failed edges, expected at most 2"),
        (
            ("--schemes", "kuijia", "--protect", "1"),
            "option:--protect: none of the compared schemes has this option, expected ffc in --schemes",
        ),
        (
            ("--schemes", "kuijia", "--new-tunnels"),
            "option:--new-tunnels: none of the compared schemes has this option, expected recompute in --schemes",
        ),
        (
            ("--probabilities", "table1"),
            "option:--probabilities: 'table1' is unknown (did you mean table1-5min?), expected table1-2min",
        ),
        (("--probabilities", "none.csv"), "none.csv: cannot be read"),
        (
            ("--probabilities", "table1-5min", "--failures", "nodes"),
            "option:--probabilities: failure 's1' takes a node down: links give it no probability, expected",
        ),
        (("--failures", "missing.csv"), "missing.csv: cannot be read"),
        (("--schemes", "kuijia,"), "kuijia whatif: argument --schemes: 'kuijia,', expected names separated by commas"),
        (("-o", "file/out"), "file/out: cannot be written to"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").touch()
    try:
        status = whatif("fig1", "fig1", *arguments)
    except SystemExit as stop:
        status = int(str(stop.code))
    assert status == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: {message}")
    assert printed.err.count("\n") == 1
    assert os.listdir() == ["file"]  # noqa: PTH208  # names only


def test_the_name_of_a_page_is_that_of_the_report_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    assert main(["whatif", "fig1", "-o", str(page)]) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert capsys.readouterr().out.endswith(f"wrote {page}\n")


@pytest.mark.parametrize("command", ["run fig4", "packet fig1", "compile plan.json"])
def test_the_name_of_a_file_is_no_folder(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([*command.split(), "-o", "report.html"])
    assert end.value.code == 2
    assert "'report.html' is the name of a file, expected that of a folder" in capsys.readouterr().err
