"""Tables 2 and 3 by the fluid model: as computed by hand here, within the bars, and never passed off as measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.motivation.command import REMARK
from experiments.reporting.report import report_of
from experiments.results.exhibit import exhibit_from_json
from experiments.results.result import load_result
from kuijia.cli.main import main


def run(folder: Path, *arguments: str) -> int:
    return main(["run", *arguments, "--backend", "flow", "--capacity", "1000", "-o", str(folder)])


@pytest.mark.parametrize(
    ("table", "scheme", "before", "after"),
    [
        ("table2", "rescaling", (400, 400, 800, 800), (400, 400, 600, 600)),
        ("table2", "kuijia", (400, 400, 800, 800), (200, 200, 800, 800)),
        ("table3", "rescaling", (500, 500, 1000, 1000), (500, 500, 500, 500)),
        ("table3", "kuijia", (500, 500, 1000, 1000), (0, 0, 1000, 1000)),
    ],
)
def test_flows_share_what_there_is(
    tmp_path: Path, table: str, scheme: str, before: tuple[float, ...], after: tuple[float, ...]
) -> None:
    assert run(tmp_path, table) == 0
    result = load_result(tmp_path / f"{table}-{scheme}-1.json")
    assert result.backend == "flow"
    told = {"kuijia", "commit", "kernel", "python", "packages", "started", "duration", "settings"}
    assert told <= result.manifest.keys()
    assert [flow.before for flow in result.flows] == pytest.approx(before)
    assert [flow.after for flow in result.flows] == pytest.approx(after, abs=1e-9)


def test_the_table_stands_beside_the_published_one_and_says_that_it_is_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "table2", "--cut", "s1-s4") == 0
    printed = capsys.readouterr().out
    assert REMARK in printed
    lines = [line.split() for line in printed.splitlines()]
    (at,) = [number for number, line in enumerate(lines) if line[:2] == ["after,", "kuijia,"]]
    assert (lines[at][3], lines[at + 1][1]) == ("200", "177")
    assert json.loads((tmp_path / "table2-summary.json").read_text())["passed"]
    stored = json.loads((tmp_path / "table2.json").read_text())
    assert stored["manifest"]["command"] == "kuijia run table2 --cut s1-s4 --backend flow --capacity 1000"
    exhibit, read = exhibit_from_json(stored, "table2.json"), report_of(tmp_path).exhibits[0]
    assert {line.label: line for line in exhibit.lines} == {line.label: line for line in read.lines}


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        (["--repetitions", "2"], "option:--repetitions: 2 runs of a model that always gives the same, expected 1 "),
        (["--kill-controller", "--cut", "s1-s4"], "option:--kill-controller: the model has no controller, expected "),
        (["--liveness", "bfd"], "option:--liveness: in the model failures are noticed at once, expected --backend"),
        (["--buffer-packets", "5"], "option:--buffer-packets: the model has no buffers, expected --backend emulation"),
        (["--congestion-control", "reno"], "option:--congestion-control: the model has one kind of TCP, expected "),
        (["--warmup-seconds", "9"], "option:--warmup-seconds: changes nothing in the model, expected "),
        (["--interval-seconds", "1"], "option:--interval-seconds: changes nothing in the model, expected "),
        (["--slots", "128"], "option:--slots: changes nothing on flow, expected --backend emulation or packet or "),
        (["--framework", "ryu"], "option:--framework: changes nothing on flow, expected --backend emulation or boxes"),
        (["--inventory", "boxes.yaml"], "option:--inventory: changes nothing on flow, expected --backend boxes"),
    ],
)
def test_what_a_model_has_not_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: list[str], complaint: str
) -> None:
    assert run(tmp_path / "new", "table2", *option) == 2
    assert capsys.readouterr().err.startswith(f"error: {complaint}")
    assert not (tmp_path / "new").exists()
