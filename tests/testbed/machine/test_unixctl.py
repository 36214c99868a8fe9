from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kuijia_base.errors import TestbedError
from testbed.machine.ovs import ControlSocket


@contextmanager
def daemon(path: Path, *answers: bytes) -> Iterator[list[bytes]]:
    """Send each answer piece by piece after some input, then close."""
    received: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            with listener.accept()[0] as connection:
                received.append(connection.recv(4096))
                for answer in answers:
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield received
        thread.join()


def test_an_answer_may_come_in_pieces(tmp_path: Path) -> None:
    pieces = (b'{"id":0,"result":"a}', b'b","error":null}')
    with daemon(tmp_path / "ctl", *pieces) as received, ControlSocket(tmp_path / "ctl") as control:
        assert control.command("ofproto/trace", "s1", "in_port=1") == "a}b"
    assert json.loads(received[0]) == {"id": 0, "method": "ofproto/trace", "params": ["s1", "in_port=1"]}


def test_what_the_daemon_refuses_is_told(tmp_path: Path) -> None:
    answer = b'{"id":0,"result":null,"error":"no such bridge\\n"}'
    refused = pytest.raises(TestbedError, match=r"^ofproto/trace was refused: no such bridge$")
    with daemon(tmp_path / "ctl", answer), ControlSocket(tmp_path / "ctl") as control, refused:
        control.command("ofproto/trace", "s1")


def test_a_daemon_that_ends_or_is_not_there_is_told(tmp_path: Path) -> None:
    closed = pytest.raises(TestbedError, match="closed the connection")
    with daemon(tmp_path / "ctl"), ControlSocket(tmp_path / "ctl") as control, closed:
        control.command("version")
    with pytest.raises(TestbedError, match="no daemon answers at"):
        ControlSocket(tmp_path / "other")
