"""`kuijia reproduce` runs each command of a paper once and puts all verdicts on one page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.reporting.results_page import all_items
from kuijia.cli import reproduce
from kuijia.cli.main import main
from kuijia.cli.reproduce import NEEDS_ROOT, PAPERS, RECORD, commands_of, run_command


def test_every_paper_with_rows_has_commands_each_once() -> None:
    assert {item.paper.casefold() for item in all_items()} == set(PAPERS)
    for paper in PAPERS:
        found = commands_of(paper, None, None, quick=False)
        rows = {item.command for item in all_items() if item.paper.casefold() == paper and item.command}
        assert len(found) == len(rows)
        assert set(found) == rows


def test_options_reach_the_commands_that_have_them() -> None:
    found = commands_of("hedera", ["hedera-testbed", "hedera-iterations"], "packet", quick=True)
    assert found == [
        "kuijia run hedera-testbed --backend packet --quick",
        "kuijia run hedera-iterations --quick",
    ]


def test_an_experiment_of_another_paper_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "cqrd", "--only", "fig8", "-o", str(tmp_path)]) == 2
    assert "fig8 is not an experiment of this paper, expected one of cqrd-exp1" in capsys.readouterr().err


def test_a_command_that_needs_root_is_left_out_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Sequence[str]] = []

    def call(words: Sequence[str]) -> int:
        called.append(words)
        return 1

    for user, status in ((1000, NEEDS_ROOT), (0, 1)):
        monkeypatch.setattr("os.geteuid", lambda user=user: user)
        assert run_command("sudo kuijia run hedera-testbed", tmp_path, 7, call).status == status
    assert called == [["run", "hedera-testbed", "--seed", "7", "-o", str(tmp_path)]]


def test_the_report_has_verdicts_and_commands_and_nothing_is_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["reproduce", "kuijia", "--only", "fig6", "fig8", "-o", str(tmp_path)]
    assert main(words) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<th>kuijia run fig8</th><td" in page
    assert page.count(">reproduced</td>") == 2
    assert "2 reproduced" in capsys.readouterr().out
    assert json.loads((tmp_path / "fig8.json").read_text(encoding="utf-8"))["manifest"]["command"] == "kuijia run fig8"

    monkeypatch.setattr(reproduce, "_call", lambda _: pytest.fail("it was run before"))
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"] == {"reproduced": 2}


def test_a_command_that_was_refused_is_run_again_and_said_to_have_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["reproduce", "kuijia", "--only", "fig6", "fig8", "-o", str(tmp_path)]
    call = reproduce._call
    monkeypatch.setattr(reproduce, "_call", lambda given: 2 if "fig6" in given else call(given))
    assert main(words) == 1
    assert "not run: kuijia run fig6" in capsys.readouterr().err
    statuses = [each["status"] for each in json.loads((tmp_path / RECORD).read_text(encoding="utf-8"))["commands"]]
    assert statuses == [2, 0]
    monkeypatch.setattr(reproduce, "_call", call)
    assert main(words) == 0


def test_the_list_runs_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(reproduce, "_call", lambda _: pytest.fail("it was run"))
    assert main(["reproduce", "hermes", "--list"]) == 0
    assert "kuijia run hermes-fig9\n" in capsys.readouterr().out
    assert main(["reproduce", "hermes", "--quick", "--list"]) == 0
    assert "kuijia run hermes-fig9 --quick\n" in capsys.readouterr().out
