"""A controller's process: its event log, read piece by piece while it is written, and failures of its start."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from kuijia_app.tables.options import OptionWords
from kuijia_base.errors import TestbedError
from testbed.controllers import application_process
from testbed.controllers.controller_process import ControllerProcess


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "controller-events.jsonl").touch()
    return tmp_path / "controller-events.jsonl"


@pytest.fixture
def process(log: Path) -> ControllerProcess:
    return ControllerProcess(log.parent, log.parent / "plan.json", OptionWords(), "os-ken")


def append(log: Path, *events: dict[str, object]) -> None:
    with log.open("a") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)


def test_a_line_that_is_still_being_written_is_left_for_the_next_call(log: Path, process: ControllerProcess) -> None:
    assert process.events() == []
    log.write_text('{"event": "one"}\n{"event": ')
    assert process.events() == [{"event": "one"}]
    log.write_text('{"event": "one"}\n{"event": "two"}\n')
    assert process.events() == [{"event": "one"}, {"event": "two"}]


@pytest.mark.parametrize(
    "line", [b"no JSON", b"[]", b'{"time": 1}', b"[" * 100_000, b'{"event": ' + b"7" * 5000 + b"}", b"\xff"]
)
def test_a_line_that_is_no_event_is_one_error_that_names_the_file(
    log: Path, process: ControllerProcess, line: bytes
) -> None:
    log.write_bytes(line + b"\n")
    with pytest.raises(TestbedError, match=f"^{log} has a line that is not an event: '[^\n]*$") as caught:
        process.events()
    assert len(str(caught.value)) < 500


def test_an_event_without_end_is_not_waited_for(log: Path, process: ControllerProcess) -> None:
    log.write_bytes(b'{"event": "' + b"x" * (2 << 20))
    with pytest.raises(TestbedError, match=f"^an event in {log} wrote more than 1048576 bytes$"):
        process.events()


def test_the_last_words_of_a_long_log_are_cut_out_of_its_end(log: Path, process: ControllerProcess) -> None:
    log.with_name("controller.log").write_text("x" * 10_000_000 + "\nthe last word\n")
    with pytest.raises(TestbedError, match=r"^the controller has died: the last word$"):
        process.wait_for(lambda _: False, 0)


def test_a_tunnel_is_dead_while_an_ingress_was_last_told_so(log: Path, process: ControllerProcess) -> None:
    def told(ingress: str, path_id: int, *, alive: bool) -> dict[str, object]:
        return {"event": "tunnel-liveness", "ingress": ingress, "path_id": path_id, "alive": alive}

    append(log, told("s1", 16, alive=False), told("s1", 17, alive=False), told("s4", 17, alive=False))
    assert process.tunnels_told_dead() == {16, 17}
    append(log, told("s1", 16, alive=True), told("s4", 17, alive=True))
    assert process.tunnels_told_dead() == {17}


def test_a_switch_is_unfit_until_it_is_programmed_after_all(log: Path, process: ControllerProcess) -> None:
    append(log, {"event": "switch-unfit", "switch": "s1", "problem": "has no port 3"})
    append(log, {"event": "switch-ready", "switch": "s2"}, {"event": "switch-refused", "switch": "s2"})
    assert process.unfit_switches() == {"s1", "s2"}
    append(log, {"event": "switch-ready", "switch": "s2"})
    assert process.unfit_switches() == {"s1"}


def test_a_controller_that_does_not_listen_is_ended(
    process: ControllerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application_process, "START_TIMEOUT", 0.01)
    monkeypatch.setattr(process, "_command", lambda: ["sleep", "600"])
    with pytest.raises(TestbedError, match=r"^the controller does not listen after 0.01 s; its log has no warnings$"):
        process.start()
    assert not process.is_alive


def test_problems_are_those_that_are_not_gone_as_the_acting_controller_sees_them(
    log: Path, process: ControllerProcess
) -> None:
    place = {"kind": "queue-missing", "switch": "paris", "port": 2}
    found = {**place, "event": "problem-found", "problem": "port 2 has no queue 1", "what_to_do": "make it"}
    other = {**found, "port": 3, "problem": "port 3 has no queue 1", "what_to_do": ""}
    append(log, found, other, {**place, "event": "problem-gone", "problem": "port 2 has no queue 1"})
    assert process.problems() == ["switch paris: port 3 has no queue 1"]
    append(log, {"event": "role-taken"}, found)
    assert process.problems() == ["switch paris: port 2 has no queue 1: make it"]


def test_pairs_are_carried_as_the_acting_controller_said_last(log: Path, process: ControllerProcess) -> None:
    def told(egress: str, *path: str) -> dict[str, object]:
        state = "carried" if path else "ended"
        return {"event": "restoration", "ingress": "s1", "egress": egress, "state": state, "path": list(path)}

    append(log, told("s4", "s1", "s2", "s4"), told("s3", "s1", "s3"), told("s4", "s1", "s3", "s4"), told("s3"))
    assert process.pairs_carried() == {("s1", "s4"): ["s1", "s3", "s4"]}
    append(log, {"event": "role-taken"})
    assert process.pairs_carried() == {}


def test_a_failure_says_what_the_log_complains_of_and_names_no_file(
    log: Path, process: ControllerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application_process, "START_TIMEOUT", 3.0)
    script = "echo '2026-11-28T11:00:00.000+00:00 WARNING controller: switch s1 is absent' >&2; exec sleep 600"
    monkeypatch.setattr(process, "_command", lambda: ["sh", "-c", script])
    with pytest.raises(TestbedError) as caught:
        process.start()
    assert "WARNING controller: switch s1 is absent" in str(caught.value)
    assert str(log.parent) not in str(caught.value)


def test_an_end_counts_as_the_program_s_own_unless_it_was_killed_or_stopped(
    process: ControllerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = iter(("exit 3", "exec sleep 60", "exec sleep 60", "exit 4"))
    monkeypatch.setattr(process, "_command", lambda: ["sh", "-c", next(commands)])
    monkeypatch.setattr(process, "wait_for", lambda *_: True)
    process.start()
    subprocess.Popen.wait(process._process)  # type: ignore[arg-type]  # it was started
    assert process.own_ends == (3,)
    process.start()
    process.kill()
    process.start()
    process.stop()
    assert process.own_ends == (3,)
    process.start()
    subprocess.Popen.wait(process._process)  # type: ignore[arg-type]
    process.kill()
    assert list(process.own_ends) == [3, 4]
