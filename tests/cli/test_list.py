from __future__ import annotations

import json

import pytest

from kuijia.cli.main import main


def test_every_experiment_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["table2", "table3"]
    assert "Table 2" in lines[0]


def test_the_same_can_be_had_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)["experiments"]
    assert entries[0]["name"] == "table2"
    assert entries[0]["backends"] == ["emulation", "flow", "packet", "boxes"]
