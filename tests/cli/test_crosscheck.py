from __future__ import annotations

import json

import pytest

from kuijia.cli.main import main


@pytest.mark.ovs
def test_cases_and_disagreements_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crosscheck", "--cases", "30", "--seed", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cases"], found["disagreements"], found["seed"]) == (30, [], 5)
    assert found["hops"] >= 30


@pytest.mark.parametrize("cases", ["0", "x", "-1", "1e3"])
def test_a_number_of_cases_that_is_none_is_refused(cases: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["crosscheck", f"--cases={cases}"])
    assert raised.value.code == 2
    assert "expected a whole number" in capsys.readouterr().err


def test_without_open_vswitch_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("testbed.machine.commands.search_path", lambda: "/nonexistent")
    monkeypatch.setattr("testbed.machine.ovs.SCHEMA_PATHS", ())
    assert main(["crosscheck", "--cases", "1"]) == 1
    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert line.startswith("error: Open vSwitch's database schema is in none of")
