"""The commands find the lab that is up, whatever else there is, and start one from wherever they are called."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import threading
from dataclasses import asdict
from pathlib import Path

import pytest

from kuijia_base.errors import InputError, TestbedError
from testbed.lab import lab_client
from testbed.lab.lab_client import LabRefusedError, ask_lab, running_lab, start_lab
from testbed.lab.lab_options import SOCKET_NAME, Order
from testbed.machine.processes import own_identity
from testbed.machine.run_directory import become_background_lab

UNUSABLE = Order(plan={}, options={})
"""Is refused before anything is started."""


def make_lab(root: Path, name: str, *, with_socket: bool) -> Path:
    directory = root / name
    directory.mkdir()
    (directory / "owner.json").write_text(json.dumps(asdict(own_identity())))
    if with_socket:
        (directory / SOCKET_NAME).touch()
    return directory


def test_of_several_labs_the_one_that_takes_requests_is_found(tmp_path: Path) -> None:
    make_lab(tmp_path, "1-experiment", with_socket=False)
    up = make_lab(tmp_path, "2-background", with_socket=True)
    assert running_lab(tmp_path) == up


def test_a_folder_that_is_no_lab_or_just_vanishing_is_none(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "1-half-gone").mkdir()
    (tmp_path / "1-half-gone" / SOCKET_NAME).touch()
    assert running_lab(tmp_path) is None
    assert running_lab(tmp_path / "nowhere") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_the_lab_of_another_user_is_refused_in_one_sentence() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        make_lab(root, "1-roots", with_socket=True).chmod(0o700)
        os.seteuid(65534)
        try:
            with pytest.raises(InputError, match=r"^lab:1-roots: belongs to another user, expected its owner or root$"):
                running_lab(root)
        finally:
            os.seteuid(0)


def test_modules_in_the_callers_folder_are_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_client, "running_lab", lambda: None)
    for name in ("queue", "testbed"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\nraise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LabRefusedError, match=r"^plan: "):
        start_lab(UNUSABLE, lambda _: None)
    assert not (tmp_path / "imported").exists()


def test_a_service_that_dies_at_once_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_client, "running_lab", lambda: None)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    long = Order(plan={"padding": "x" * 10_000_000}, options={})
    with pytest.raises(TestbedError, match=r"^the lab ended with status 1 before it was up$"):
        start_lab(long, lambda _: None)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (b"", "lab 1-up died before it answered"),
        (b"[" * 2000 + b"\n", "lab 1-up did not send a valid answer, but 2001 other bytes"),
        (b'{"error": 7}\n', "lab 1-up did not send a valid answer, but 13 other bytes"),
        (b'"' + b"x" * 5000 + b'"\n', "lab 1-up did not send a valid answer, but 4097 other bytes"),
    ],
)
def test_an_answer_that_is_none_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes, error: str
) -> None:
    up = make_lab(tmp_path, "1-up", with_socket=False)
    monkeypatch.setattr(lab_client, "running_lab", lambda: up)
    monkeypatch.setattr(lab_client, "LONGEST_ANSWER", 4096)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(up / SOCKET_NAME))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.makefile("rb").readline()
                connection.sendall(said)

        server = threading.Thread(target=serve)
        server.start()
        with pytest.raises(TestbedError) as failure:
            ask_lab("status")
        server.join()
    assert str(failure.value) == error


def test_only_one_lab_can_be_in_the_background(tmp_path: Path) -> None:
    message = f"^lab: process {os.getpid()} keeps one up or is starting it, expected one at a time$"
    refused = pytest.raises(InputError, match=message)
    with become_background_lab(tmp_path), refused, become_background_lab(tmp_path):
        pass
    with become_background_lab(tmp_path):
        pass
