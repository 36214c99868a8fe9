"""The clients at the lab service's socket: lets in so many at a time, reads a line from each, sends each its answer.

Clients are served in the order in which their lines are complete. None keeps the others waiting: each has
`PATIENCE` seconds to send its request, and as many to read the answer. The time for carrying out requests does not
count.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType

PATIENCE = 5.0
LONGEST_REQUEST = 1 << 22
"""Bytes of a line: 100,000 demands with names of ten characters."""

MOST_CLIENTS = 32
"""Served at a time; the others wait until one of these has gone."""

_CHUNK = 1 << 16

Refusal = Callable[[str, str], bytes]


class _State(Enum):
    SPEAKS = "speaks"
    WAITS = "waits"
    LISTENS = "listens"
    LEAVES = "leaves"


@dataclass(eq=False)
class Client:
    """One connection. `line` is what it has sent so far, complete once the reception hands the client out."""

    connection: socket.socket
    deadline: float
    line: bytearray = field(default_factory=bytearray)
    answer: memoryview = field(default_factory=lambda: memoryview(b""))
    state: _State = _State.SPEAKS


class Reception:
    """Clients of a listening socket, from construction to `close`; used as a context manager.

    Args:
        listener: the socket.
        refusal: makes the answer for a client that sends too much or too slowly, from problem and expectation.
        patience: seconds.
        most_clients: most clients at a time.
        longest_request: bytes.
    """

    def __init__(
        self,
        listener: socket.socket,
        refusal: Refusal,
        *,
        patience: float = PATIENCE,
        most_clients: int = MOST_CLIENTS,
        longest_request: int = LONGEST_REQUEST,
    ) -> None:
        self._listener = listener
        self._refusal = refusal
        self._patience = patience
        self._most_clients = most_clients
        self._longest_request = longest_request
        self._clients: set[Client] = set()
        self._finished: deque[Client | None] = deque()
        self._selector = selectors.DefaultSelector()
        self._left_at = time.monotonic()
        listener.setblocking(False)

    def __enter__(self) -> Reception:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None or issubclass(kind, Exception):
                self.finish()
        finally:
            self.close()

    def next(self) -> Client | None:
        """Wait for a client and return it with its whole line; None for one that has gone or was refused."""
        away = time.monotonic() - self._left_at
        for client in self._clients:
            client.deadline += away
        while not self._finished:
            self._turn(accepting=True)
        self._left_at = time.monotonic()
        return self._finished.popleft()

    def answer(self, client: Client, answer: bytes) -> None:
        """Send as much as the client reads at once; the rest follows later."""
        client.answer = memoryview(answer)
        client.state = _State.LISTENS
        client.deadline = time.monotonic() + self._patience
        self._clients.add(client)
        self._send(client)

    def finish(self) -> None:
        """Send the rest of the answers to the clients that read them in time."""
        while any(client.state is _State.LISTENS for client in self._clients):
            self._turn(accepting=False)

    def close(self) -> None:
        for client in [*self._clients, *filter(None, self._finished)]:
            client.connection.close()
        self._selector.close()

    def _turn(self, *, accepting: bool) -> None:
        """Wait until a client can be read, answered or given up, and do so."""
        self._watch_listener(accepting and len(self._clients) + len(self._finished) < self._most_clients)
        left = min((client.deadline for client in self._clients), default=None)
        timeout = None if left is None else max(0.0, left - time.monotonic())
        for key, _ in self._selector.select(timeout):
            client: Client | None = key.data
            if client is None:
                self._accept()
            elif client.state is _State.LISTENS:
                self._send(client)
            else:
                self._hear(client)
        now = time.monotonic()
        for client in [client for client in self._clients if client.deadline <= now]:
            self._give_up(client)

    def _watch_listener(self, wanted: bool) -> None:  # noqa: FBT001  # the only argument
        watched = self._listener in self._selector.get_map()
        if wanted and not watched:
            self._selector.register(self._listener, selectors.EVENT_READ, None)
        elif watched and not wanted:
            self._selector.unregister(self._listener)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):  # it has gone again
            return
        connection.setblocking(False)
        client = Client(connection, time.monotonic() + self._patience)
        self._clients.add(client)
        self._selector.register(connection, selectors.EVENT_READ, client)

    def _hear(self, client: Client) -> None:
        try:
            chunk = client.connection.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
            client.line.clear()
        if client.state is _State.LEAVES:  # says more than is listened to
            if not chunk:
                self._drop(client)
            return
        before, newline, _ = chunk.partition(b"\n")
        client.line += before
        if len(client.line) > self._longest_request:
            problem = f"a request of more than {self._longest_request} bytes"
            self._refuse(client, problem, "a shorter one")
        elif newline or (client.line and not chunk):
            self._hand_out(client)
        elif not chunk:  # it has gone without a word
            self._drop(client)
            self._finished.append(None)

    def _hand_out(self, client: Client) -> None:
        self._clients.remove(client)
        self._selector.unregister(client.connection)
        client.state = _State.WAITS
        self._finished.append(client)

    def _give_up(self, client: Client) -> None:
        if client.state is _State.SPEAKS:
            self._refuse(client, f"the request has not ended after {self._patience:g} s", "a line")
        else:
            self._drop(client)

    def _refuse(self, client: Client, problem: str, expected: str) -> None:
        client.line.clear()
        self._finished.append(None)
        self.answer(client, self._refusal(problem, expected))

    def _send(self, client: Client) -> None:
        try:
            sent = client.connection.send(client.answer)
        except BlockingIOError:
            sent = 0
        except OSError:  # it has not waited for the answer
            self._drop(client)
            return
        client.answer = client.answer[sent:]
        if client.answer:
            self._watch(client, selectors.EVENT_WRITE)
            return
        # Closed once it has said everything: a client that is still sending would never come to read its answer.
        client.state = _State.LEAVES
        try:
            client.connection.shutdown(socket.SHUT_WR)
        except OSError:
            self._drop(client)
            return
        self._watch(client, selectors.EVENT_READ)

    def _watch(self, client: Client, events: int) -> None:
        if client.connection in self._selector.get_map():
            self._selector.modify(client.connection, events, client)
        else:
            self._selector.register(client.connection, events, client)

    def _drop(self, client: Client) -> None:
        self._clients.discard(client)
        if client.connection in self._selector.get_map():
            self._selector.unregister(client.connection)
        client.connection.close()
