from __future__ import annotations

import json
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_app.tables.wiring_file import wiring_text
from te_solver.formats.plan_file import save_plan
from tests.kuijia_app.plans import motivation_plan
from tests.kuijia_app.wirings import permuted


@pytest.mark.ovs
def test_cases_and_disagreements_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crosscheck", "--cases", "30", "--seed", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cases"], found["disagreements"], found["seed"]) == (30, [], 5)
    assert found["hops"] >= 30


@pytest.mark.ovs
def test_one_plan_with_a_wiring_of_its_own_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = motivation_plan()
    save_plan(plan, tmp_path / "plan.json")
    (tmp_path / "wiring.json").write_text(wiring_text(permuted(plan.topology, seed=2), as_json=True))
    options = ["--wiring", str(tmp_path / "wiring.json"), "--cases", "60", "--json"]
    assert main(["crosscheck", str(tmp_path / "plan.json"), *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cases"], found["plans"], found["disagreements"]) == (60, 1, [])


def test_options_on_tables_need_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crosscheck", "--slots", "32"]) == 2
    assert "option:PLAN: is missing, expected a plan" in capsys.readouterr().err


@pytest.mark.parametrize("cases", ["0", "x", "-1", "1e3"])
def test_a_number_of_cases_that_is_none_is_refused(cases: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["crosscheck", f"--cases={cases}"])
    assert raised.value.code == 2
    assert "expected a whole number" in capsys.readouterr().err


def test_without_open_vswitch_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("kuijia_base.commands.search_path", lambda: "/nonexistent")
    monkeypatch.setattr("testbed.machine.ovs.SCHEMA_PATHS", ())
    assert main(["crosscheck", "--cases", "1"]) == 1
    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert line.startswith("error: Open vSwitch's database schema is in none of")
