"""Connections beyond the limits are closed at once, and those that exist go on."""

from __future__ import annotations

import socket
from contextlib import ExitStack, closing
from http import HTTPStatus
from http.client import HTTPResponse

import pytest

pytest.importorskip("uvicorn", reason="no uvicorn")

from testbed.web import server  # after the package that may be missing
from testbed.web.server import PageLink, PageListener, Serving, listen
from tests.testbed.web.serving import while_serving

MOST = 5


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", MOST)
    monkeypatch.setattr(server, "MOST_OF_A_CLIENT", 2)


def accepts(listening: PageListener) -> bool:
    try:
        listening.accept()
    except ConnectionAbortedError:
        return False
    return True


def test_idle_connections_take_no_request_of_those_that_exist_and_their_places_become_free() -> None:
    def act(link: PageLink) -> None:
        request = f"GET /api/lab HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {link.token}\r\n\r\n".encode()

        def connected() -> socket.socket:
            return opened.enter_context(socket.create_connection((link.address, link.port), timeout=10))

        def answer(connection: socket.socket) -> int:
            connection.sendall(request)
            with HTTPResponse(connection) as response:
                response.begin()
                response.read()
                return response.status

        with ExitStack() as opened:
            first, *idle = [connected() for _ in range(MOST)]
            assert answer(first) == HTTPStatus.OK
            assert connected().recv(1) == b""
            assert answer(first) == HTTPStatus.OK
            last = idle.pop()
            last.shutdown(socket.SHUT_WR)
            assert last.recv(1) == b""  # the server has closed it
            assert answer(connected()) == HTTPStatus.OK

    while_serving(Serving(port=0), act)


@pytest.mark.parametrize(("address", "most"), [("127.0.0.1", MOST), ("192.0.2.1", 2)])
def test_other_machines_have_fewer_connections_each(address: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    accept = socket.socket.accept
    monkeypatch.setattr(socket.socket, "accept", lambda self: (accept(self)[0], (address, 1)))
    with closing(listen("127.0.0.1", 0)) as listening, ExitStack() as opened:
        for number in range(MOST + 1):
            opened.enter_context(socket.create_connection(listening.getsockname(), timeout=10))
            assert accepts(listening) == (number < most)


@pytest.mark.parametrize("loopback", ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"])
def test_the_addresses_of_this_machine_are_limited_in_total_only(loopback: str) -> None:
    assert server._is_this_machine(loopback)
    assert not server._is_this_machine("fe80::1%eth0")
