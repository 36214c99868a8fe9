"""The clients at the lab service's socket: accepts a bounded number, reads a line from each and answers it.

Clients are served in the order in which their lines are complete. None keeps the others waiting: each has
`PATIENCE` seconds to send its request, and as many to read the answer. The time for carrying out requests does not
count.

A client may become a watcher, which gets lines until it goes or `end_watches` is called. One that does not read while
`LONGEST_BACKLOG` bytes wait for it is told so and dropped.
"""

from __future__ import annotations

import math
import os
import selectors
import socket
import threading
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
"""Clients served at a time; the others wait until one of them has left."""

MOST_WATCHERS = 16
LONGEST_BACKLOG = 1 << 18
"""Bytes, 1,000 events, beyond what the kernel's buffer of the connection holds."""

_CHUNK = 1 << 16

_BELL = object()

Refusal = Callable[[str, str], bytes]


class _State(Enum):
    SPEAKS = "speaks"
    WAITS = "waits"
    LISTENS = "listens"
    LEAVES = "leaves"
    WATCHES = "watches"


@dataclass(eq=False)
class Client:
    """One connection. `line` is what it has sent so far, complete once `next` has returned the client."""

    connection: socket.socket
    deadline: float
    line: bytearray = field(default_factory=bytearray)
    answer: memoryview = field(default_factory=lambda: memoryview(b""))
    state: _State = _State.SPEAKS


class LabClients:
    """Clients of a listening socket, from construction to `close`; used as a context manager.

    Args:
        refusal: makes the answer for a client that sends too much or too slowly, from problem and expectation.
        patience: seconds.
        longest_request: bytes.
        longest_backlog: bytes that may wait for a watcher.
    """

    def __init__(
        self,
        listener: socket.socket,
        refusal: Refusal,
        *,
        patience: float = PATIENCE,
        most_clients: int = MOST_CLIENTS,
        longest_request: int = LONGEST_REQUEST,
        longest_backlog: int = LONGEST_BACKLOG,
    ) -> None:
        self._listener = listener
        self._refusal = refusal
        self._patience = patience
        self._most_clients = most_clients
        self._longest_request = longest_request
        self._longest_backlog = longest_backlog
        self._clients: set[Client] = set()
        self._waiting: set[Client] = set()
        self._watchers: set[Client] = set()
        self._finished: deque[Client | None] = deque()
        self._selector = selectors.DefaultSelector()
        self._left_at = time.monotonic()
        self._ringing = threading.Lock()
        self._bell: int | None = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._selector.register(self._bell, selectors.EVENT_READ, _BELL)
        listener.setblocking(False)

    def __enter__(self) -> LabClients:
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
        """Wait for a client and return it with its whole line; None if it left or was refused, or after a `ring`."""
        away = time.monotonic() - self._left_at
        for client in self._clients:
            client.deadline += away
        while not self._finished:
            self._turn(accepting=True)
        self._left_at = time.monotonic()
        return self._finished.popleft()

    def ring(self) -> None:
        """Make `next` return; any thread may call this, also when the reception is closed."""
        with self._ringing:
            if self._bell is not None:
                os.eventfd_write(self._bell, 1)

    @property
    def watchers(self) -> int:
        """Number of clients that watch."""
        return len(self._watchers)

    def watch(self, client: Client, lines: bytes) -> None:
        """Make the client a watcher, which gets these lines first."""
        self._waiting.discard(client)
        client.state = _State.WATCHES
        client.deadline = math.inf
        self._watchers.add(client)
        self._watch(client, selectors.EVENT_READ)
        self._pass_on(client, lines)

    def tell_watchers(self, lines: bytes) -> None:
        """Send lines to all watchers."""
        for client in list(self._watchers):
            self._pass_on(client, lines)

    def end_watches(self, line: bytes) -> None:
        """Send the last line to all watchers, who have as long as others to read it."""
        for client in list(self._watchers):
            self._watchers.discard(client)
            self.answer(client, bytes(client.answer) + line)

    def answer(self, client: Client, answer: bytes) -> None:
        """Send as much as the client reads at once; the rest follows later."""
        self._waiting.discard(client)
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
        for client in [*self._clients, *self._waiting, *self._watchers]:
            client.connection.close()
        self._selector.close()
        with self._ringing:
            if self._bell is not None:
                os.close(self._bell)
            self._bell = None

    def _turn(self, *, accepting: bool) -> None:
        """Wait until a client can be read, answered or given up, and do so."""
        self._watch_listener(accepting and len(self._clients) + len(self._waiting) < self._most_clients)
        left = min((client.deadline for client in self._clients), default=None)
        timeout = None if left is None else max(0.0, left - time.monotonic())
        for key, _ in self._selector.select(timeout):
            client: Client | None = key.data
            if key.data is _BELL:
                os.eventfd_read(key.fd)
                self._finished.append(None)
            elif client is None:
                self._accept()
            elif client.state is _State.WATCHES:
                self._attend(client)
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

    def _pass_on(self, client: Client, lines: bytes) -> None:
        """Send lines to a watcher, or drop one that does not keep up."""
        client.answer = memoryview(bytes(client.answer) + lines)
        if self._sent_some(client) and len(client.answer) > self._longest_backlog:
            unfinished, _, _ = bytes(client.answer).partition(b"\n")
            self._watchers.discard(client)
            problem = f"this watcher has not read {len(client.answer)} bytes and is dropped"
            self.answer(client, unfinished + b"\n" + self._refusal(problem, "one that reads"))

    def _attend(self, client: Client) -> None:
        """Send a watcher its pending lines; drop it when it has left or sends anything."""
        if client.answer:
            self._sent_some(client)
        try:
            client.connection.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            pass
        self._drop(client)

    def _sent_some(self, client: Client) -> bool:
        """Send what a watcher reads at once; return False if it has left."""
        try:
            client.answer = client.answer[client.connection.send(client.answer) :]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(client)
            return False
        self._watch(client, selectors.EVENT_READ | (selectors.EVENT_WRITE if client.answer else 0))
        return True

    def _hand_out(self, client: Client) -> None:
        self._clients.remove(client)
        self._waiting.add(client)
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
        self._watchers.discard(client)
        if client.connection in self._selector.get_map():
            self._selector.unregister(client.connection)
        client.connection.close()
