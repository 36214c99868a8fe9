from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from kuijia.cli.main import main
from te_solver.formats.topology_file import load_topology
from te_solver.schemas import schema

GML = """graph [
  node [ id 0 label "Bonn" ] node [ id 1 label "Kiel" ] node [ id 2 label "Kiel" ] node [ id 3 label "Ulm" ]
  edge [ source 0 target 1 LinkSpeedRaw 155000000.0 ] edge [ source 0 target 1 ] edge [ source 1 target 2 ]
]
"""
NOTES = [
    "2 nodes with a label that another one has too: id added, such as 'Kiel (1)'",
    "1 pair of nodes has parallel edges: their capacities are added",
    "2 of 3 edges without a capacity: 40 Mbit/s assumed",
    "the network is in 2 parts that no link connects: all are kept",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test starts in a folder with one network, `tiny.gml`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.gml").write_text(GML)
    return tmp_path


def test_a_network_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "describe", "gscale"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.splitlines() == [
        "gscale",
        "  size               12 nodes, 19 edges, 38 links",
        "  degree             2 to 4, 3.17 on average",
        "  parts              1, every node is connected",
        "  diameter           5 links",
        "  capacity           38 links of 1 Gbit/s; 38 Gbit/s in all",
        "  delay              none given",
        "  edge connectivity  2",
        "",
        "edge-disjoint paths (pairs of nodes)",
        "    4          7   10.61%",
        "    3          9   13.64%",
        "    2         50   75.76%",
    ]


def test_what_was_assumed_is_told_beside(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "describe", "tiny.gml", "--capacity", "40"]) == 0
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [f"note: tiny.gml: {note}" for note in NOTES]
    assert "  parts              2 that no link connects, of 3, 1 nodes\n" in captured.out
    assert "  capacity           2 links of 195 Mbit/s, 2 links of 40 Mbit/s; 470 Mbit/s in all\n" in captured.out
    assert "  edge connectivity  0\n" in captured.out


def test_many_capacities_are_cut_unless_asked_for_in_full(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    links = "".join(f"- {{a: a, b: n{number}, capacity: {number}, delay: 0.002}}\n" for number in range(1, 11))
    nodes = ", ".join(f"n{number}" for number in range(1, 11))
    (folder / "many.yaml").write_text(f"directed: true\nnodes: [a, {nodes}]\nlinks:\n{links}")
    assert main(["topology", "describe", "many.yaml"]) == 0
    summary = capsys.readouterr().out
    assert "1 link of 1 Mbit/s and 2 other values (-v lists all); 55 Mbit/s in all\n" not in summary
    assert " and 2 other values (-v lists all); 55 Mbit/s in all\n" in summary
    assert "10 links, 10 of them without their reverse\n" in summary
    assert "  delay              2 ms to 2 ms, median 2 ms\n" in summary
    assert "edge-disjoint paths (ordered pairs of nodes)\n    1         10    9.09%\n" in summary
    assert main(["topology", "describe", "many.yaml", "-v"]) == 0
    assert "other values" not in capsys.readouterr().out


def test_the_description_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "describe", "tiny.gml", "--capacity", "40", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["nodes"] == 4
    assert described["capacities"] == [{"capacity": 195.0, "links": 2}, {"capacity": 40.0, "links": 2}]
    assert described["disjoint_paths"]["pairs"] == [{"paths": 0, "pairs": 3}, {"paths": 1, "pairs": 3}]
    assert described["edge_connectivity"] == 0
    assert described["notes"] == NOTES


def test_converting_writes_yaml_that_says_where_it_is_from(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "convert", "tiny.gml", "--capacity", "40"]) == 0
    printed = capsys.readouterr().out
    assert main(["topology", "convert", "tiny.gml", "--capacity", "40", "-o", "new.yaml"]) == 0
    assert capsys.readouterr().out == "wrote new.yaml\n"
    assert (folder / "new.yaml").read_text() == printed
    assert printed.startswith("# Converted from tiny.gml by kuijia topology convert.\n# 2 nodes with a label")
    assert load_topology(folder / "new.yaml") == load_topology(folder / "tiny.gml", default_capacity=40)


def test_converting_twice_changes_nothing_more(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "convert", "tiny.gml", "-o", "once.yaml"]) == 0
    assert main(["topology", "convert", "once.yaml", "-o", "twice.yaml"]) == 0
    assert capsys.readouterr().err.count("note") == len(NOTES)
    assert load_topology(folder / "once.yaml") == load_topology(folder / "twice.yaml")


def test_the_converted_network_as_json_keeps_to_the_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "convert", "tiny.gml", "--json"]) == 0
    printed = capsys.readouterr().out
    Draft202012Validator(schema("topology")).validate(json.loads(printed))
    (folder / "tiny.yaml").write_text(printed)
    assert load_topology(folder / "tiny.yaml") == load_topology(folder / "tiny.gml")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("describe absent", "absent: no such file or shipped network, expected a file or one of fig1, gscale"),
        ("describe tiny.gml --format yaml", "tiny.gml:1: the file is not a mapping"),
        ("convert tiny.gml --format sndlib", "tiny.gml:1: found 'graph [', expected ?SNDlib native format"),
        ("describe topohub:topozoo/Nowhere", "topohub:topozoo/Nowhere: topohub has no network of this name"),
        ("convert tiny.gml -o absent/x.yaml", "absent/x.yaml: cannot be written (No such file or directory)"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], arguments: str, complaint: str) -> None:
    assert main(["topology", *arguments.split()]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    *notes, last = captured.err.splitlines()
    assert last.startswith(f"error: {complaint}")
    assert all(line.startswith("note: ") for line in notes)


@pytest.mark.parametrize("capacity", ["0", "-1", "nan", "inf", "much"])
def test_a_default_capacity_is_a_rate(capsys: pytest.CaptureFixture[str], capacity: str) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["topology", "describe", "tiny.gml", f"--capacity={capacity}"])
    assert raised.value.code == 2
    assert capsys.readouterr().err == (
        "error: kuijia topology describe: argument --capacity: "
        f"'{capacity}', expected a finite number greater than zero, "
        "in Mbit/s or with its unit, such as 10G\n"
    )


def test_a_file_name_with_line_ends_and_controls_stays_in_its_comment(folder: Path) -> None:
    text = "name: plain\nnodes: [a, b]\nlinks: [{a: a, b: b, capacity: 1}]\n"
    (folder / "a\nname: evil\x1b\u2028\udcff.yaml").write_text(text)
    assert main(["topology", "convert", "a\nname: evil\x1b\u2028\udcff.yaml", "-o", "new.yaml"]) == 0
    written = (folder / "new.yaml").read_text()
    assert written.startswith(
        "# Converted from a name: evil\\x1b \\udcff.yaml by kuijia topology convert.\nname: plain\n"
    )
    assert load_topology(folder / "new.yaml") == load_topology(folder / "a\nname: evil\x1b\u2028\udcff.yaml")


@pytest.mark.parametrize("form", [[], ["--json"], ["-o", "new.yaml"]])
def test_a_network_that_our_reader_of_yaml_would_refuse_is_not_written(
    form: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    links = "".join(f"{node} {node + 1} 1 0\n" for node in range(1, 30_001))
    (folder / "long.txt").write_text(f"to_node from_node capacity prob_failure\n{links}")
    assert main(["topology", "convert", "long.txt", *form]) == 2
    captured = capsys.readouterr()
    # The mapping, four keys with their values, 30,001 names, and seven values for each link.
    assert captured.err == "error: long.txt: long has 240010 values in YAML, expected at most 200000\n"
    assert captured.out == ""
    assert not (folder / "new.yaml").exists()


def test_a_network_of_the_zoo_can_be_that_of_other_projects(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = "".join(f"node [ id {number} ] " for number in range(4))
    edges = "".join(f"edge [ source {a} target {b} ] " for a, b in ((0, 1), (1, 2), (1, 2)))
    (folder / "net.gml").write_text(f"graph [ {nodes} {edges} ]")
    arguments = "net.gml --largest-part --uniform-capacity 2G -o same.yaml"
    assert main(["topology", "convert", *arguments.split()]) == 0
    topology = load_topology(folder / "same.yaml")
    assert topology.nodes == ("0", "1", "2")
    assert [(*link.ends, link.capacity) for link in topology.links][::2] == [("0", "1", 2000), ("1", "2", 2000)]
    assert "note: net.gml: 1 node outside the largest part left out\n" in capsys.readouterr().err


def test_a_unit_may_be_stated_for_files_without_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "net.tab").write_text("i j cap\n0 1 10\n1 0 10\n")
    (folder / "demands.tab").write_text("s t h tm\n0 1 0 4\n")
    assert main(["solve", "net.tab", "demands.tab", "--rate-unit", "Gbit/s"]) == 0
    captured = capsys.readouterr()
    assert "4 of 4 Gbit/s" in captured.out
    assert "taken as" not in captured.err
