"""`kuijia lab` takes options where users put them, and bad ones are one line; what it does is tested in the testbed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kuijia.cli import lab
from kuijia.cli.main import main
from kuijia_base.errors import InputError
from testbed.machine.run_directory import LAB_VARIABLE


@pytest.mark.parametrize("capacity", ["0", "-5", "nan", "inf", "fast"])
def test_a_capacity_that_is_none_is_refused(capsys: pytest.CaptureFixture[str], capacity: str) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["lab", "up", "fig1", "fig1", f"--capacity={capacity}"])
    assert raised.value.code == 2
    expected = f"error: kuijia lab up: argument --capacity: {capacity!r}, expected a finite number greater than zero, "
    assert capsys.readouterr().err.startswith(expected)


@pytest.mark.parametrize("arguments", ["lab --json -v --seed 3 down", "lab down --json -v --seed 3"])
def test_the_common_options_may_stand_before_and_after_the_action(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: str
) -> None:
    monkeypatch.setattr(lab, "running_lab", lambda: Path("1-abc"))
    monkeypatch.setattr(lab, "ask_lab", lambda _: None)
    assert main(arguments.split()) == 0
    assert json.loads(capsys.readouterr().out)["lab"] is None


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the program that would have been executed, its arguments and its environment."""
    calls: list[Any] = []
    monkeypatch.setattr(lab, "ask_lab", lambda _, node: {"lab": "1-abc", "namespace_pid": 4711, "node": node})
    monkeypatch.setattr(os, "execvpe", lambda *call: calls.append(call))
    return calls


@pytest.mark.parametrize("between", [(), ("--",)])
def test_what_follows_the_node_is_the_programs_own(executed: list[Any], between: tuple[str, ...]) -> None:
    main(["lab", "exec", "s1", *between, "ls", "--json", "-v", "--", "x"])
    ((program, arguments, environment),) = executed
    assert (program, arguments) == ("mnexec", ["mnexec", "-a", "4711", "ls", "--json", "-v", "--", "x"])
    assert environment[LAB_VARIABLE] == "1-abc"


@pytest.mark.parametrize(
    ("command", "problem"),
    [((), "exec: no command is given"), (("no-such-program",), "no-such-program: no such program")],
)
def test_nothing_to_execute_is_refused(
    executed: list[Any], capsys: pytest.CaptureFixture[str], command: tuple[str, ...], problem: str
) -> None:
    assert main(["lab", "exec", "s1", *command]) == InputError.exit_status
    assert capsys.readouterr().err.startswith(f"error: lab:{problem}, expected ")
    assert executed == []


def test_a_class_of_traffic_that_no_queue_serves_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demands = tmp_path / "classes.csv"
    demands.write_text("source,target,rate,priority\ns1,s4,5,0\ns1,s4,5,1\n")
    assert main(["lab", "up", "fig1", str(demands)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"error: {demands}: a demand of priority 1, expected one that the queue layout 'plain' serves: 0\n"
    )
