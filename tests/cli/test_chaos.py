"""`kuijia chaos` refuses, in one line and before it touches the machine, what it cannot break."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kuijia.cli.main import main


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--kinds", "handover,cut"], "option:--controllers: 1: handover needs a pair, expected 2"),
        (["--faults", "peers-cut"], "option:--controllers: 1: peers-cut needs a pair, expected 2"),
        (["--load", "0.95"], "option:--load: 0.95, expected 0.9 at most"),
        (["--faults", "rain"], "faults.json:faults[0].kind: unknown kind 'rain', expected one of cut, "),
        (["--faults", "cut", "--controllers", "2"], "faults.json:faults[0].subject: '[]' is not in this network"),
    ],
)
def test_what_cannot_be_broken_is_refused(
    options: list[str],
    complaint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    if options[0] == "--faults":
        fault = {"at": 1, "kind": options[1], "subject": [], "seconds": 1}
        Path("faults.json").write_text(json.dumps([fault]))
        options = ["--faults", "faults.json", *options[2:]]
    assert main(["chaos", "fig1", "fig1", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert complaint in captured.err
