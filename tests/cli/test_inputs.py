from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from kuijia.cli.inputs import add_demands, add_paths, add_topology, read_demands, read_finder, read_topology
from kuijia.cli.main import main
from kuijia.cli.parsers import actions_of, all_parsers, whole_parser
from kuijia_base.errors import InputError
from te_solver.model.demands import Demand


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test starts in a folder with a network in two parts, `parts.yaml`, and demands for it, `parts.csv`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts.yaml").write_text(
        "nodes: [a, b, c, d]\nlinks: [{a: a, b: b, capacity: 1}, {a: c, b: d, capacity: 1}]"
    )
    (tmp_path / "parts.csv").write_text("source,target,rate\na,b,1\na,c,2\nd,c,3\nd,a,4\n")
    return tmp_path


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_topology(parser)
    add_demands(parser)
    add_paths(parser)
    return parser.parse_args(words)


def test_every_verb_that_takes_a_number_of_tunnels_takes_a_choice_of_paths() -> None:
    options = {
        parser.prog: {each for action in actions_of(parser) for each in action.option_strings}
        for parser in all_parsers(whole_parser())
    }
    planning = {prog for prog, own in options.items() if "--tunnels" in own}
    assert {"kuijia solve", "kuijia whatif", "kuijia lab up", "kuijia lab web", "kuijia chaos"} <= planning
    assert {prog for prog in planning if "--paths" not in options[prog]} == set()


def test_the_chosen_finder_finds_by_its_choice_and_notes_what_it_assumes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "paths.txt").write_text("0 1:0-1\n")
    topology = read_topology(parsed("parts.yaml"))
    finder = read_finder(parsed("parts.yaml", "--paths", "file:paths.txt"), topology)
    assert list(finder.tunnels_of_pairs([("a", "b"), ("b", "a")], 3)) == [(("a", "b"),), ()]
    assert capsys.readouterr().err.startswith("note: file:paths.txt: ")
    assert read_finder(parsed("parts.yaml"), topology).choice == "disjoint"
    with pytest.raises(InputError, match=r"paths: path choice 'best', expected one of disjoint"):
        read_finder(parsed("parts.yaml", "--paths", "best"), topology)


def test_unreachable_demands_are_listed_and_dropped_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    args = parsed("parts.yaml", "parts.csv", "--drop-unreachable")
    assert read_demands(args, read_topology(args)) == (Demand("a", "b", 1), Demand("d", "c", 3))
    assert capsys.readouterr().err.splitlines() == [
        "note: parts.csv: 2 demands between nodes that are not connected left out:",
        "note: parts.csv:   a to c: 2 Mbit/s",
        "note: parts.csv:   d to a: 4 Mbit/s",
    ]


def test_without_the_option_they_are_refused_by_the_line_of_the_first_with_a_hint_at_it(folder: Path) -> None:
    (folder / "one.csv").write_text("# comment\n\nsource,target,rate\na,b,1\n\na,c,2\n")
    for name, place, others in (("parts.csv", 3, ", nor for 1 other demand"), ("one.csv", 6, "")):
        args = parsed("parts.yaml", name)
        with pytest.raises(InputError) as raised:
            read_demands(args, read_topology(args))
        expected = "demands between connected nodes of parts, or --drop-unreachable"
        assert str(raised.value) == f"{name}:{place}: no path from a to c{others}, expected {expected}"


def test_demands_without_lines_are_refused_by_their_file(folder: Path) -> None:
    (folder / "matrix").write_text("0 0 1 0 " + "0 " * 12)
    args = parsed("parts.yaml", "matrix", "--demand-format", "teavar")
    with pytest.raises(InputError, match=r"^matrix: no path from a to c, expected demands between"):
        read_demands(args, read_topology(args))


def test_when_none_is_left_there_is_nothing_to_do(folder: Path) -> None:
    (folder / "far.csv").write_text("source,target,rate\na,d,1\n")
    args = parsed("parts.yaml", "far.csv", "--drop-unreachable")
    with pytest.raises(InputError) as raised:
        read_demands(args, read_topology(args))
    assert str(raised.value) == "far.csv: no demand between connected nodes, expected one on parts"


def test_options_reach_the_readers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "net").write_text("graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 ] ]")
    (folder / "matrices").write_text("0 1 0 0\n0 0 5 0\n")
    args = parsed("net", "matrices", "--format", "gml", "--capacity", "30", "--demand-format", "teavar", "--row", "2")
    topology = read_topology(args)
    assert topology.link("1", "2").capacity == 30
    assert read_demands(args, topology) == (Demand("2", "1", 5),)
    assert "note: net: 1 of 1 edge without a capacity: 30 Mbit/s assumed\n" in capsys.readouterr().err


def test_networks_of_topohub_go_by_name() -> None:
    args = parsed("topohub:sndlib/polska", "topohub:sndlib/polska")
    assert len(read_demands(args, read_topology(args))) == 66


def test_a_file_that_takes_long_shows_progress(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    comments = "# nothing\n" * 20_000
    (folder / "long.csv").write_text(f"{comments}source,target,rate\na,b,1\n{comments}")
    args = parsed("parts.yaml", "long.csv")
    topology = read_topology(args)
    read_demands(args, topology)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("kuijia_base.progress.PATIENCE_SECONDS", 0.0)
    read_demands(args, topology)
    assert capsys.readouterr().err.startswith("reading long.csv: 20,000 lines\n")


@pytest.mark.parametrize("row", ["0", "-1", "two"])
def test_a_row_is_counted_from_one(capsys: pytest.CaptureFixture[str], row: str) -> None:
    with pytest.raises(SystemExit):
        parsed("net", "matrices", f"--row={row}")
    assert f"argument --row: '{row}', expected a whole number, one or more" in capsys.readouterr().err


@pytest.mark.parametrize("seed", ["-1", "x", "1.5"])
def test_a_seed_that_is_none_is_refused(capsys: pytest.CaptureFixture[str], seed: str) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["topology", "describe", "gscale", f"--seed={seed}"])
    assert raised.value.code == 2
    assert capsys.readouterr().err.endswith(f"argument --seed: {seed!r}, expected a whole number, zero or more\n")


def test_an_error_stands_alone_after_a_topology_with_notes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "net.gml").write_text("graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] ]")
    (folder / "bad.csv").write_text("source,target,rate\n0,2,1\n")
    assert main(["solve", "net.gml", "bad.csv"]) == 2
    assert capsys.readouterr().err == "error: bad.csv:2: unknown node '2', expected a node of net\n"


def test_the_name_of_a_file_does_not_break_the_line_of_a_note(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a\nb\x1b").write_text("0 1 0 0 0 1 0 1 0")
    (folder / "net.yaml").write_text("nodes: [a, b, c]\nlinks: [{a: a, b: b, capacity: 1}, {a: b, b: c, capacity: 1}]")
    assert main(["solve", "net.yaml", "a\nb\x1b", "--demand-format", "teavar"]) == 0
    assert capsys.readouterr().err == (
        "note: a b\\x1b: demands are taken as Mbit/s (TEAVAR's programs divide them by 1,000, as if they were kbit/s)\n"
    )


def test_a_note_on_a_file_that_is_topology_and_demands_comes_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "both.xml").write_text(
        """<network><networkStructure><nodes><node id="a"/><node id="b"/></nodes><links><link id="l"><source>a</source>
        <target>b</target><preInstalledModule><capacity>9</capacity></preInstalledModule></link></links></networkStructure>
        <demands><demand id="d"><source>a</source><target>b</target><demandValue>5</demandValue></demand></demands>
        </network>"""
    )
    assert main(["solve", "both.xml", "both.xml"]) == 0
    assert (
        capsys.readouterr()
        .err.splitlines()
        .count("note: both.xml: the file names no unit: its capacities and demands are taken as Mbit/s")
        == 1
    )


@pytest.mark.usefixtures("folder")
def test_whatif_takes_a_plan_in_the_place_of_a_topology(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "fig1", "-o", "plan.json"]) == 0
    capsys.readouterr()
    assert main(["whatif", "--plan", "plan.json"]) == 0
    by_option = capsys.readouterr().out
    assert main(["whatif", "plan.json"]) == 0
    assert capsys.readouterr().out == by_option


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("whatif plan.json d.csv", "plan.json:1: a plan, which has demands itself, expected no d.csv after it"),
        ("solve plan.json", "plan.json:1: a plan of kuijia, expected a topology"),
    ],
)
def test_a_plan_is_refused_where_it_has_no_place(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, line: str
) -> None:
    (folder / "plan.json").write_text('{"format": "kuijia-plan", "version": 1}')
    assert main(words.split()) == 2
    assert capsys.readouterr().err == f"error: {line}\n"


NATIVE = """\
?SNDlib native format; type: network; version: 1.0
NODES ( a ( 1 2 ) b ( 3 4 ) )
LINKS ( L ( a b ) 9 0 0 0 ( ) )
"""


def test_demands_are_by_default_those_that_come_with_the_network(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "net.txt").write_text(f"{NATIVE}DEMANDS ( d ( a b ) 1 5 UNLIMITED )\n")
    (folder / "teavar").mkdir()
    (folder / "teavar" / "topology.txt").write_text("to from capacity prob\n1 2 10 .01\n2 1 10 .01\n")
    (folder / "teavar" / "demand.txt").write_text("0 4 0 0\n")
    for source, wanted in (("net.txt", "a -> b: 5 of 5"), ("teavar", "1 -> 2: 4 of 4"), ("fig1", "s1 -> s4: 3 of 3")):
        assert main(["solve", source]) == 0
        assert wanted in capsys.readouterr().out
    assert main(["whatif", "net.txt", "--schemes", "kuijia"]) == 0
    assert "net: 1 failure, 1 pair" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["solve", "whatif"])
def test_a_network_without_demands_asks_for_them(verb: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "topology.txt").write_text("to from capacity prob\n1 2 10 .01\n2 1 10 .01\n")
    for source in ("parts.yaml", "topology.txt"):
        assert main([verb, source]) == 2
        assert capsys.readouterr().err == f"error: {source}: comes without demands, expected DEMANDS after it\n"


@pytest.mark.parametrize("command", [("lab", "up"), ("chaos",)])
def test_verbs_that_change_the_machine_want_demands_typed(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*command, "fig1"])
    assert capsys.readouterr().err.endswith("the following arguments are required: DEMANDS\n")


def test_every_command_that_reads_demands_has_all_options_on_reading_them() -> None:
    parsers = all_parsers(whole_parser())
    reading = [parser for parser in parsers if "DEMANDS" in {each.metavar for each in actions_of(parser)}]
    assert len(reading) > 4
    for parser in reading:
        options = {each.dest for each in actions_of(parser)}
        assert {"demand_format", "row", "drop_unreachable", "rate_unit"} <= options, parser.prog
