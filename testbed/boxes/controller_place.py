"""Checks that switches can reach the future controller's address: a stand-in listener, and the call from a box."""

from __future__ import annotations

import secrets
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_POLL_SECONDS = 0.05


class _Listener(socketserver.TCPServer):
    allow_reuse_address = True
    request_queue_size = 128  # all switches call at the same time

    def __init__(self, host: str, port: int, word: bytes) -> None:
        super().__init__((host, port), _Answer)
        self.word = word


class _Answer(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Listener)
        with suppress(OSError):  # the caller is gone
            self.request.sendall(self.server.word)


@contextmanager
def stand_in(host: str, port: int) -> Iterator[str]:
    """Listen in the controller's place during a block; yield the word that every caller receives.

    Raises:
        OSError: the address is not available, for instance because a controller listens there.
    """
    word = secrets.token_hex(8)
    with _Listener(host, port, word.encode()) as listener:
        thread = threading.Thread(target=listener.serve_forever, args=(_POLL_SECONDS,), name="stand-in")
        thread.start()
        try:
            yield word
        finally:
            listener.shutdown()
            thread.join()


def call_controller(host: str, port: int, word: str, seconds: float) -> str | None:
    """Return why a switch at the caller's place would not reach the listener with this word, see `stand_in`."""
    try:
        with socket.create_connection((host, port), timeout=seconds) as connection, connection.makefile("rb") as said:
            heard = said.read(len(word))
    except TimeoutError:
        return f"no answer within {seconds:g} s"
    except OSError as error:
        return error.strerror or str(error)
    if not heard:
        return "the connection is closed without an answer"
    return None if heard == word.encode() else "another program answers there"
