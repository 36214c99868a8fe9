"""`kuijia switches`: whatever is wrong with a database or an option is one line and a status."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kuijia.cli.main import main
from te_solver.formats.plan_file import save_plan
from tests.kuijia_app.plans import both_ways, plan_of

ACTIONS = ("check", "prepare", "restore")


@pytest.fixture
def plan_file(tmp_path: Path) -> str:
    save_plan(plan_of(both_ways("line", "a b", "a-b", capacity=20.0), "a-b", "b-a"), tmp_path / "plan.json")
    return str(tmp_path / "plan.json")


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Return a port at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def error_of(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(["switches", *words])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return status, printed.err


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("address", ["", "db.sock", "unix:db.sock", "tcp:6640", "tcp:h:port", "ssl:h", "tcp:--h:1"])
def test_an_address_in_another_form_is_bad_input(
    plan_file: str, capsys: pytest.CaptureFixture[str], action: str, address: str
) -> None:
    status, line = error_of(capsys, action, plan_file, "--ovsdb", address)
    assert status == 2
    assert line.endswith("expected unix:/PATH, tcp:HOST:PORT or ssl:HOST:PORT\n")


@pytest.mark.parametrize("action", ACTIONS)
def test_a_database_that_is_not_there_is_one_line(
    plan_file: str, capsys: pytest.CaptureFixture[str], action: str, silent_port: int
) -> None:
    status, line = error_of(capsys, action, plan_file, "--ovsdb", "unix:/nowhere/db.sock")
    reason = "database connection failed (No such file or directory)"
    assert (status, line) == (1, f"error: unix:/nowhere/db.sock: {reason}\n")
    address = f"tcp:127.0.0.1:{silent_port}"
    status, line = error_of(capsys, action, plan_file, "--ovsdb", address)
    assert (status, line.startswith(f"error: {address}: "), "Connection refused" in line) == (1, True, True)


def test_tls_needs_its_files(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, line = error_of(capsys, "check", plan_file, "--ovsdb", "ssl:127.0.0.1:6640")
    assert status == 2
    assert "--tls-key" in line


def test_tls_files_that_do_not_exist_are_one_line(
    plan_file: str, capsys: pytest.CaptureFixture[str], silent_port: int
) -> None:
    files = ("--tls-key", "/no.key", "--tls-certificate", "/no.crt", "--tls-ca", "/no.ca")
    status, line = error_of(capsys, "check", plan_file, "--ovsdb", f"ssl:127.0.0.1:{silent_port}", *files)
    assert status == 1
    assert line.startswith(f"error: ssl:127.0.0.1:{silent_port}: ")


def test_a_database_that_talks_nonsense_is_one_line(
    plan_file: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "ovs-vsctl"
    fake.write_text('#!/bin/sh\necho \'{"data": [["x"]]}\'\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    status, line = error_of(capsys, "check", plan_file, "--ovsdb", "tcp:127.0.0.1:1")
    assert status == 1
    assert line.startswith("error: tcp:127.0.0.1:1 answers in another form than Open vSwitch")
