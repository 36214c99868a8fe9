from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest

from kuijia_app.cli.main import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def whatif(*arguments: str) -> int:
    return main(["whatif", *arguments])


def test_the_summary_sets_the_schemes_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    # Links of 1000 are full: 1000 of 3000 are lost, under Kuijia by the victims, else by half of what they meet.
    assert whatif("fig1", "fig1", "--schemes", "kuijia,rescaling", "--failures", "links") == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "fig1: 5 failures, 1 pair"
    assert lines[4].split() == ["kuijia", "3000", "33.33%", "0%", "33.33%", "33.33%", "0%", "0%", "0%", "3.2"]
    assert lines[5].split() == [
        "rescaling",
        "3000",
        "33.33%",
        "0%",
        "33.33%",
        "33.33%",
        "50.00%",
        "0%",
        "50.00%",
        "3.2",
    ]
    assert "  33.33%  s2-s4: victims 1000 of 1000, others 0 of 2000" in lines
    assert "  33.33%  s2-s4: victims 0 of 1000, others 1000 of 2000" in lines
    assert printed.err == ""


def test_the_summary_is_that_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "whatif.md").read_text()
    shown = page.split("```")[1].strip().splitlines()
    assert whatif("gscale", "gscale") == 0
    assert capsys.readouterr().out.splitlines()[: len(shown)] == shown


def test_only_the_worst_failures_are_named_unless_all_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("gscale", "gscale", "--schemes", "kuijia") == 0
    assert "  and 5 more that lose something (-v names all)" in capsys.readouterr().out.splitlines()
    assert whatif("gscale", "gscale", "--schemes", "kuijia", "-v") == 0
    assert "more that lose something" not in capsys.readouterr().out


def test_ffc_sends_less_and_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("fig1", "fig1", "--schemes", "ffc") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[4].split()[:3] == ["ffc", "2000", "0%"]
    assert lines[-1] == "  nothing is lost in 5 of 5"


def test_json_and_csv_hold_every_outcome(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("fig1", "fig1", "--schemes", "kuijia,precomputed", "--failures", "nodes", "-o", "out", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads((folder / "out" / "whatif.json").read_text())
    assert [outcome["failure"] for outcome in data["outcomes"]] == ["s1", "s2", "s3", "s4"] * 2
    rows = list(csv.DictReader((folder / "out" / "whatif.csv").open()))
    assert len(rows) == 8 * 5
    cut_off = [row for row in rows if row["failure"] == "s1" and row["role"] == "victim"]
    assert [float(row["failure_loss"]) for row in cut_off] == [3000, 3000]


def test_the_same_question_has_the_same_answer() -> None:
    for folder in ("one", "other"):
        assert whatif("gscale", "gscale", "-o", folder) == 0
    for name in ("whatif.json", "whatif.csv"):
        assert Path("one", name).read_bytes() == Path("other", name).read_bytes()


def test_failures_may_be_those_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ducts.csv").write_text("failure,a,b\nduct,s1,s2\nduct,s1,s3\n")
    assert whatif("fig1", "fig1", "--schemes", "kuijia", "--failures", "ducts.csv") == 0
    assert "  66.67%  duct: victims 2000 of 2000, others 0 of 1000" in capsys.readouterr().out.splitlines()


def test_udp_loses_in_proportion(capsys: pytest.CaptureFixture[str]) -> None:
    # A third of 1500 on each of two links: aboriginal traffic loses as large a part as the victims.
    assert whatif("fig1", "fig1", "--schemes", "rescaling", "--udp") == 0
    assert capsys.readouterr().out.splitlines()[4].split()[6] == "33.33%"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--schemes", "kuijia,magic"), "option:--schemes: 'magic' is unknown, expected one of kuijia,"),
        (("--failures", "ducts"), "option:--failures: 'ducts' is unknown, expected links, pairs, nodes or a CSV file"),
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
