"""The verbs on tables: compile, verify, trace."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_app.proof import verification
from kuijia_app.proof.expectation import ExpectedTraffic, expected_traffic
from kuijia_app.proof.header_values import HeaderValues
from kuijia_app.tables.ofctl_text import flows_text, groups_text
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.wiring_file import wiring_text
from te_solver.formats.plan_file import save_plan
from te_solver.model.plan import Plan
from te_solver.schemes.shipped.rescaling import RESCALING
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of
from tests.kuijia_app.wirings import permuted


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    save_plan(motivation_plan(), tmp_path / "plan.json")
    return tmp_path / "plan.json"


def test_compile_writes_two_files_per_switch(
    plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "tables"
    assert main(["compile", str(plan_file), "-o", str(folder)]) == 0
    for switch, tables in build_tables(motivation_plan()).items():
        assert (folder / f"{switch}.flows").read_text() == flows_text(tables)
        assert (folder / f"{switch}.groups").read_text() == groups_text(tables)
    assert len(list(folder.iterdir())) == 8
    assert capsys.readouterr().out.splitlines() == [
        "switch  entries  fields  groups  buckets",
        "s1           12      62      13      101",
        "s2            7      31       0        0",
        "s3            7      31       0        0",
        "s4           12      62      13      101",
        "total        38     186      26      202",
        "a tunnel's share of the 64 hash slots is off by 0.31% at most",
        f"wrote 8 files to {folder}",
    ]


def test_compile_counts_less_fields_for_decomposed_tables(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fields = []
    for pipeline in ("single", "decomposed"):
        assert main(["compile", str(plan_file), "--pipeline", pipeline, "--layout", "eight", "--json"]) == 0
        counted = json.loads(capsys.readouterr().out)
        fields.append(counted["total"]["fields"])
        assert counted["total"]["fields"] == sum(each["fields"] for each in counted["switches"].values())
        assert counted["rounding_error"] == pytest.approx(0.2 / 64)
    assert fields[1] < fields[0]


def test_a_switch_whose_name_is_no_file_name_gets_one(tmp_path: Path) -> None:
    save_plan(plan_of(both_ways("odd", "a/b ..", "a/b-.."), "a/b-.."), tmp_path / "plan.json")
    assert main(["compile", str(tmp_path / "plan.json"), "-o", str(tmp_path / "out")]) == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"a%2Fb.flows", "a%2Fb.groups", "%2E..flows", "%2E..groups"}


def test_a_name_too_long_for_a_file_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "x" * 300
    save_plan(plan_of(both_ways("odd", f"a {long}", f"a-{long}"), f"a-{long}"), tmp_path / "plan.json")
    assert main(["compile", str(tmp_path / "plan.json"), "-o", str(tmp_path / "out")]) == 2
    assert "makes a file name too long, expected at most 220 bytes" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_refused(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(plan_file), "-o", str(plan_file / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert line.endswith("expected a folder to write to")


@pytest.mark.parametrize("verb", [["compile"], ["verify"], ["trace"]])
def test_what_tables_cannot_be_made_of_is_refused_in_one_line(
    verb: list[str], plan_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packet = ["s1->s4"] if verb == ["trace"] else []
    assert main([*verb, str(plan_file), *packet, "--layout", "eight", "--tagging", "dscp-ecn"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        f"error: {plan_file}: queue layout 'eight' has no ECN bits for its queue 'control', expected"
    )


@pytest.mark.parametrize(("failures", "count", "cases"), [("links", 5, 780), ("nodes", 4, 390), ("pairs", 10, 1430)])
def test_verify_says_how_much_was_proven(
    failures: str, count: int, cases: int, plan_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(plan_file), "--failures", failures]) == 0
    first, beside, verdict, *_ = capsys.readouterr().out.splitlines()
    assert beside.startswith("not examined: queues, frame sizes and ports of real switches")
    assert first.startswith(f"130 header classes, {count} failures ({failures}), {cases:,} cases, ")
    assert verdict == "sound: no violation"


def test_verify_counts_pairs_that_two_failures_leave_without_a_tunnel_but_connected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ring = both_ways("ring", "a b c d e", "a-b b-c c-d d-e e-a")
    path = tmp_path / "ring.json"
    save_plan(plan_of(ring, "a-b-c", "a-e-d a-b-c-d"), path)
    assert main(["verify", str(path), "--failures", "pairs"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "of 16 pairs that failures leave connected, 2 (12.50%) have no tunnel left; 0 of them stay dead with "
        "restoration by the controller"
    )
    assert main(["verify", str(path), "--failures", "pairs", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"] == {"connected": 16, "without_tunnel": 2, "without_path": 0}


def test_verify_exits_with_one_and_lists_what_it_found(
    plan_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Expects the queues of the other scheme.
    monkeypatch.setattr(verification, "expected_traffic", _as_if_rescaled)
    assert main(["verify", str(plan_file)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "queue: s1-s2 down: s1 -> s4, class 0, dscp 0, slots 0-18: in queue 2 instead of queue 1"
    )
    assert lines[20].startswith("and ")
    assert lines[-1].startswith("not sound: ")
    assert main(["verify", str(plan_file), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["format"], found["version"], found["sound"]) == ("kuijia-verification", 1, False)
    assert found["violations"][0]["rule"] == "queue"
    assert main(["verify", str(plan_file), "-v"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == len(found["violations"]) + 3


def _as_if_rescaled(
    plan: Plan, options: PipelineOptions, told_apart: Mapping[str, HeaderValues]
) -> Iterator[ExpectedTraffic]:
    return expected_traffic(plan, replace(options, scheme=RESCALING), told_apart)


def test_trace_prints_the_way(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(plan_file), "s1->s4 slot=3", "--fail", "s2-s4"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "delivered to the host: s1-s4"
    assert main(["trace", str(plan_file), "s1->s4", "--fail", "s2", "--fail", "s1-s4", "--json"]) == 0
    traced = json.loads(capsys.readouterr().out)
    assert (traced["format"], traced["version"]) == ("kuijia-trace", 1)
    assert (traced["failure"], traced["nodes"]) == ("s2 + s1-s4", ["s1", "s3", "s4"])


def test_a_packet_may_be_two_nodes(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ways = []
    for packet in (["s1", "s4", "slot=3"], ["s1->s4 slot=3"]):
        main(["trace", str(plan_file), *packet])
        ways.append(capsys.readouterr().out)
    assert ways[0] == ways[1]
    assert main(["trace", str(plan_file), "s1", "s4", "--failures", "s2-s4"]) == 0
    assert main(["trace", str(plan_file), "s1", "s04"]) == 2
    assert "unknown node 's04' (did you mean s4?)" in capsys.readouterr().err


def test_a_bad_packet_is_refused_in_one_line(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(plan_file), "s1->s9"]) == 2
    assert capsys.readouterr().err == "error: packet: unknown node 's9', expected a node of fig1\n"


def test_a_wiring_file_numbers_ports_in_tables_and_ways(
    plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stated = permuted(motivation_plan().topology, seed=1)
    file = tmp_path / "wiring.yaml"
    file.write_text(wiring_text(stated))
    assert main(["compile", str(plan_file), "--wiring", str(file), "-o", str(tmp_path / "tables")]) == 0
    assert f"in_port={stated.switches['s1'].ports[-1]}," in (tmp_path / "tables" / "s1.flows").read_text()
    assert main(["verify", str(plan_file), "--wiring", str(file)]) == 0
    capsys.readouterr()
    assert main(["trace", str(plan_file), "s1->s4 control", "--wiring", str(file), "--json"]) == 0
    hops = json.loads(capsys.readouterr().out)["hops"]
    direct = stated.switches["s1"].links["s4"], stated.switches["s4"].links["s1"]
    assert (hops[0]["out_port"], hops[1]["in"]["in_port"]) == direct


@pytest.mark.parametrize("verb", ["compile", "verify", "trace", "crosscheck", "controller"])
def test_a_wiring_that_contradicts_the_plan_is_refused_in_one_line(
    verb: str, plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wiring.yaml"
    file.write_text(wiring_text(permuted(both_ways("fig1", "s1 s2 s3 s4", "s1-s2 s2-s4 s1-s4 s1-s3"), seed=1)))
    packet = ["s1->s4"] if verb == "trace" else []
    assert main([verb, str(plan_file), *packet, "--wiring", str(file)]) == 2
    problem = "switches.s3.links: no port to 's4', a neighbour in fig1, expected a port for each link"
    assert capsys.readouterr().err == f"error: {file}:{problem}\n"
