"""The background service answers its clients one after the other and outlives every one of them."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from te_solver.errors import InputError
from testbed import lab_service
from testbed.lab import Lab
from testbed.lab_service import answer_one


class FakeLab(Lab):
    """Does nothing, and says so."""

    def __init__(self) -> None:
        self.running = True

    @property
    def is_running(self) -> bool:
        return self.running

    def status(self) -> dict[str, Any]:
        return {"lab": "fake", "padding": "x" * 1_000_000}

    def heal(self, a: str, b: str) -> Any:  # noqa: ANN401
        raise InputError("testbed", f"link {a}-{b}", "the link is up already", "one that is down")

    def stop(self) -> None:
        self.running = False


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "lab.sock"))
        listener.listen()
        yield listener


def client(listener: socket.socket, said: bytes) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(5)
    connection.connect(listener.getsockname())
    connection.sendall(said)
    return connection


KNOWN = "expected status, fail, heal, update, enter or down"


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (
            {"do": "heal", "a": "s1", "b": "s2"},
            {"error": "testbed:link s1-s2: the link is up already, expected one that is down", "exit_status": 2},
        ),
        (
            {"do": "dance"},
            {
                "error": f"lab: unknown request {{'do': 'dance'}}, {KNOWN}",
                "exit_status": 2,
            },
        ),
        ([], {"error": f"lab: unknown request [], {KNOWN}", "exit_status": 2}),
        (
            {"do": "fail", "a": "s1"},
            {
                "error": f"lab: unknown request {{'do': 'fail', 'a': 's1'}}, {KNOWN}",
                "exit_status": 2,
            },
        ),
    ],
)
def test_a_refused_request_is_answered_with_its_exit_status(
    listener: socket.socket, request_: object, answer: object
) -> None:
    with client(listener, json.dumps(request_).encode() + b"\n") as connection:
        assert answer_one(FakeLab(), listener)
        assert json.loads(connection.makefile("rb").readline()) == answer


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n\r\n", b"{\n", b"\xff\n"])
def test_a_client_that_leaves_or_talks_nonsense_ends_nothing(listener: socket.socket, said: bytes) -> None:
    client(listener, said).close()
    assert answer_one(FakeLab(), listener)


def test_a_client_that_does_not_wait_for_its_answer_ends_nothing(listener: socket.socket) -> None:
    client(listener, b'{"do": "status"}\n').close()
    assert answer_one(FakeLab(), listener)


def test_a_client_that_says_or_reads_nothing_does_not_hold_up_the_others_for_ever(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_service, "REQUEST_TIMEOUT", 0.05)
    with closing(client(listener, b"")), closing(client(listener, b'{"do": "status"}\n')):
        assert answer_one(FakeLab(), listener)
        assert answer_one(FakeLab(), listener)


def test_down_is_answered_when_the_lab_is_down(listener: socket.socket) -> None:
    lab = FakeLab()
    with client(listener, b'{"do": "down"}\n') as connection:
        assert not answer_one(lab, listener)
        assert json.loads(connection.makefile("rb").readline()) == {"result": None}
    assert not lab.running
