"""Connections that only stay open are closed; those with a request under way are not."""

from __future__ import annotations

import socket

import pytest

pytest.importorskip("uvicorn", reason="no uvicorn")

from testbed.web import server  # after the package that may be missing
from testbed.web.server import PageLink, Serving
from tests.testbed.web.serving import while_serving


def connected(link: PageLink, sent: str) -> socket.socket:
    connection = socket.create_connection((link.address, link.port), timeout=10)
    connection.sendall(sent.encode())
    return connection


def test_a_connection_without_a_request_is_closed_and_a_stream_of_events_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "SILENT_SECONDS", 0.2)

    def act(link: PageLink) -> None:
        head = f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {link.token}\r\n"
        with connected(link, f"{head}\r\n") as stream, connected(link, "") as silent, connected(link, head) as slow:
            assert silent.recv(1) == b""
            assert slow.recv(1) == b""
            received = b""
            while received.count(b"event: state") < 4:  # longer than a connection may stay open
                news = stream.recv(65536)
                assert news
                received += news

    while_serving(Serving(port=0), act)
