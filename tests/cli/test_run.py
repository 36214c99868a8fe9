"""`kuijia run` refuses bad input in one line before anything starts, and tells what was and was not achieved."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.catalog import ExperimentEntry
from experiments.experiment import Outcome, Settings
from kuijia.cli.main import main
from kuijia.cli.run import command_of
from kuijia_base.errors import InterruptedWorkError
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

Run = Callable[[Settings, argparse.Namespace, OutputFolder, Progress], Outcome]


def replace_runner(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    load = ExperimentEntry.load
    monkeypatch.setattr(ExperimentEntry, "load", lambda entry: replace(load(entry), run=run))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["table9"], "error: experiment:table9: is unknown, expected one of table2, table3"),
        (["table2", "--capacity", "-3"], "argument --capacity: '-3', expected a finite number greater than zero"),
        (["table2", "--capacity", "inf"], "argument --capacity: 'inf', expected a finite number greater than zero"),
        (["table2", "--capacity", "fast"], "argument --capacity: 'fast', expected a finite number greater than zero"),
        (["table2", "--repetitions", "0"], "argument --repetitions: '0', expected a whole number from 1 to 1000000"),
        (["table2", "--backend", "paper"], "argument --backend: invalid choice: 'paper'"),
        (["table2", "--framework", "nox"], "argument --framework: invalid choice: 'nox'"),
        (["table2", "--slots", "63"], "argument --slots: invalid choice: 63"),
        (["table2", "--cut", "s1-s3"], "argument --cut: invalid choice: 's1-s3'"),
        (["table2", "--workers", "2"], "error: kuijia run table2: unrecognized arguments: --workers 2"),
        (["table2", "--cluster", "tcp://a:1"], "unrecognized arguments: --cluster tcp://a:1"),
        (["fig4", "--workers", "0"], "argument --workers: '0', expected a whole number from 1 to 4096"),
        (["fig4", "--cluster", "a:1"], "argument --cluster: 'a:1', expected an address such as tcp://host:8786"),
        (["fig4", "--workers", "2", "--cluster", "tcp://a:1"], "argument --cluster: not allowed with argument"),
        (
            ["fig10", "--buffer-packets", "9"],
            "option:--buffer-packets: changes nothing in fig10 on emulation, expected --backend packet",
        ),
        (
            ["gscale", "--congestion-control", "reno"],
            "changes nothing in gscale on emulation, expected --backend packet",
        ),
        (["table2", "--traffic", "udp"], "unrecognized arguments: --traffic udp"),
        (["recovery", "--schemes", "kuijia"], "unrecognized arguments: --schemes kuijia"),
        (["hedera-testbed", "--patterns", "rand9"], "argument --patterns: invalid choice: 'rand9'"),
        (
            ["hedera-testbed", "--placements", "ecmp,best"],
            "argument --placements: 'ecmp,best', expected different ones among",
        ),
        (
            ["hedera-testbed", "--nic-rate", "-5"],
            "argument --nic-rate: '-5', expected a finite number greater than zero",
        ),
        (["hedera-testbed", "--nic-rate", "0.01"], "argument --nic-rate: '0.01', expected 0.1 to 100000 Mbit/s"),
        (["hedera-shuffle", "--nic-rate", "1e6"], "argument --nic-rate: '1e6', expected 0.1 to 100000 Mbit/s"),
        (["hedera-testbed", "--period", "0.05"], "argument --period: '0.05', expected 0.1 seconds or more"),
        (["hedera-matrices", "--period", "2"], "unrecognized arguments: --period 2"),
        (["hedera-shuffle", "--framework", "ryu"], "unrecognized arguments: --framework ryu"),
        (["table2", "--kill-controller"], "option:--kill-controller: one end of the failed tunnel cannot"),
    ],
)
def test_bad_input_is_one_line_and_status_2_and_leaves_nothing(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status = main(["run", *arguments])
    except SystemExit as left:
        status = int(str(left.code))
    assert status == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert complaint in line
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*_: object) -> Outcome:
        raise AssertionError("nothing is to be started")

    replace_runner(monkeypatch, run)
    (tmp_path / "taken").touch()
    assert main(["run", "table2", "-o", str(tmp_path / "taken")]) == 2
    assert "taken: cannot be written to" in capsys.readouterr().err


def test_the_outcome_is_printed_and_the_files_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Settings] = []

    def run(settings: Settings, _: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
        seen.append(settings)
        progress.show("measuring")
        output.write_text("a.txt", "a\n")
        return Outcome("the table", {"passed": True}, ())

    replace_runner(monkeypatch, run)
    arguments = ["run", "table2", "-o", str(tmp_path), "--capacity", "10", "--seed", "7", "--quick"]
    assert main(arguments) == 0
    output = capsys.readouterr()
    assert output.out == "the table\n"
    assert f"wrote a.txt in {tmp_path}" in output.err
    assert seen == [Settings("emulation", 10.0, "os-ken", 64, 1, quick=True, seed=7)]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"] is True


def test_links_are_slower_on_a_slow_machine_unless_their_capacity_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[float, ...]] = []

    def run(settings: Settings, *_: object) -> Outcome:
        seen.append(settings.capacities)
        return Outcome("", {}, ())

    replace_runner(monkeypatch, run)
    assert main(["run", "table2", "-o", str(tmp_path)]) == 0
    assert main(["run", "table2", "-o", str(tmp_path), "--capacity", "20"]) == 0
    assert seen == [(20.0, 5.0), (20.0,)]


def test_a_missed_bar_is_status_1_and_names_the_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_runner(monkeypatch, lambda *_: Outcome("the table", {}, ("f3 after/before is 0.9",)))
    assert main(["run", "table2", "-o", str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert output.out == "the table\n"
    assert output.err.splitlines()[-1] == "error: f3 after/before is 0.9"


def test_an_interrupted_sweep_says_itself_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*_: object) -> Outcome:
        raise InterruptedWorkError("stopped; all is kept")

    replace_runner(monkeypatch, run)
    assert main(["run", "fig4", "-o", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "stopped; all is kept\n"


def test_an_interrupt_says_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: Settings, __: argparse.Namespace, output: OutputFolder, ___: Progress) -> Outcome:
        output.write_text("table2-rescaling-1.json", "{}")
        raise KeyboardInterrupt

    replace_runner(monkeypatch, run)
    assert main(["run", "table2", "-o", str(tmp_path)]) == 130
    assert f"stopped; complete and kept in {tmp_path}: table2-rescaling-1.json" in capsys.readouterr().err


def test_files_of_a_run_say_what_makes_them_again(tmp_path: Path) -> None:
    assert main(["run", "fig8", "--seed", "5", "--json", "-o", str(tmp_path)]) == 0
    manifest = json.loads((tmp_path / "fig8.json").read_text(encoding="utf-8"))["manifest"]
    assert manifest["command"] == "kuijia run fig8 --seed 5"
    assert manifest["seeds"] == [5]
    assert manifest["options"]["seed"] == 5
    assert manifest.keys() >= {"commit", "machine", "packages", "python", "started", "duration"}


def test_the_command_of_a_manifest_has_no_options_that_change_no_result() -> None:
    words = ["run", "x", "-o", "a b", "--workers=2", "--cluster", "tcp://a:1", "-v", "--full", "--seed", "3", "--json"]
    assert command_of(words) == "kuijia run x --full --seed 3"
