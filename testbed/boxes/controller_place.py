"""Whether switches come to where the controller is to listen: a listener in its place, and the call from a box."""

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
        with suppress(OSError):  # who has called is gone
            self.request.sendall(self.server.word)


@contextmanager
def stand_in(host: str, port: int) -> Iterator[str]:
    """Listen in the controller's place for the time of a block, and say the word that is returned to every caller.

    Raises:
        OSError: nobody can listen there, for instance because a controller does.
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
    """Why a switch at the caller's place would not come to the listener that says the word; None when it would.

    Args:
        host: the controller's address.
        port: that it is to listen on.
        word: see `stand_in`.
        seconds: for connecting, and for the word.
    """
    try:
        with socket.create_connection((host, port), timeout=seconds) as connection, connection.makefile("rb") as said:
            heard = said.read(len(word))
    except TimeoutError:
        return f"no answer within {seconds:g} s"
    except OSError as error:
        return error.strerror or str(error)
    if not heard:
        return "the connection is closed without an answer"
    return None if heard == word.encode() else "somebody else answers there"
