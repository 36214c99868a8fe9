"""Stands between switches and their controller: delays, holds or resets the connection of each switch."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import TracebackType

_HOST = "127.0.0.1"
_CHUNK = 1 << 16
_MOST_WAITING = 1 << 20
"""Bytes that wait in one direction; beyond them nothing more is read, as on a full connection."""

_TURN_SECONDS = 0.5


@dataclass
class Rule:
    """Treatment of a switch's connection: a held direction passes nothing, what passes is `delay` seconds late."""

    hold_from_switch: bool = False
    hold_to_switch: bool = False
    delay: float = 0.0


@dataclass
class _Direction:
    """Bytes on their way, each chunk with the time at which it is due."""

    source: socket.socket
    target: socket.socket
    from_switch: bool
    waiting: deque[tuple[float, bytes]] = field(default_factory=deque)
    size: int = 0


@dataclass
class _Connection:
    switch: str
    near: socket.socket
    far: socket.socket
    directions: tuple[_Direction, _Direction]


class Relay:
    """A relay with a port for each switch, in a thread of its own, in the namespace of the thread that starts it.

    Args:
        switches: their names.
        controller_port: TCP port of the controller on 127.0.0.1.
    """

    def __init__(self, switches: Iterable[str], controller_port: int) -> None:
        self._controller_port = controller_port
        self._rules = {switch: Rule() for switch in switches}
        self._listeners: dict[str, socket.socket] = {}
        self._connections: list[_Connection] = []
        self._lock = threading.Lock()
        self._ended = False
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    @property
    def ports(self) -> dict[str, int]:
        """Port for each switch."""
        return {switch: listener.getsockname()[1] for switch, listener in self._listeners.items()}

    def __enter__(self) -> Relay:
        for switch in self._rules:
            self._listeners[switch] = socket.create_server((_HOST, 0))
            self._listeners[switch].setblocking(False)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self._wake.send(b".")
        self._thread.join()
        for connection in list(self._connections):
            self._close(connection)
        for each in (*self._listeners.values(), self._wake, self._woken):
            each.close()
        self._selector.close()

    def rule(self, switch: str, rule: Rule) -> None:
        """Treat a switch's connection, and those that it makes later, by a rule."""
        with self._lock:
            self._rules[switch] = rule
        self._wake.send(b".")

    def reset(self, switch: str) -> None:
        """Close a switch's connection; it will make another."""
        with self._lock:
            for connection in self._connections:
                if connection.switch == switch:
                    for end in (connection.near, connection.far):
                        with contextlib.suppress(OSError):
                            end.shutdown(socket.SHUT_RDWR)
        self._wake.send(b".")

    def _run(self) -> None:
        while not self._ended:
            with self._lock:
                pause = self._turn()
                self._watch()
            for key, _ in self._selector.select(pause):
                if key.fileobj is self._woken:
                    self._woken.recv(_CHUNK)

    def _turn(self) -> float:
        """Do what can be done now; return the seconds until something is due."""
        for switch, listener in self._listeners.items():
            self._accept(switch, listener)
        due = _TURN_SECONDS
        for connection in list(self._connections):
            try:
                for direction in connection.directions:
                    due = min(due, self._move(direction, self._rules[connection.switch]))
            except OSError:
                self._close(connection)
        return due

    def _accept(self, switch: str, listener: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            near, _ = listener.accept()
            try:
                far = socket.create_connection((_HOST, self._controller_port), timeout=1)
            except OSError:  # the controller is dead: the switch sees that too
                near.close()
                return
            for end in (near, far):
                end.setblocking(False)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            directions = (_Direction(near, far, from_switch=True), _Direction(far, near, from_switch=False))
            self._connections.append(_Connection(switch, near, far, directions))

    def _move(self, direction: _Direction, rule: Rule) -> float:
        now = time.monotonic()
        if direction.size < _MOST_WAITING:
            with contextlib.suppress(BlockingIOError):
                data = direction.source.recv(_CHUNK)
                if not data:
                    raise ConnectionResetError
                direction.waiting.append((now + rule.delay, data))
                direction.size += len(data)
        if rule.hold_from_switch if direction.from_switch else rule.hold_to_switch:
            return _TURN_SECONDS
        while direction.waiting and direction.waiting[0][0] <= now:
            at, data = direction.waiting.popleft()
            try:
                sent = direction.target.send(data)
            except BlockingIOError:
                sent = 0
            direction.size -= sent
            if sent < len(data):
                direction.waiting.appendleft((at, data[sent:]))
                return 0.01
        return direction.waiting[0][0] - now if direction.waiting else _TURN_SECONDS

    def _watch(self) -> None:
        """Have the selector watch exactly what may bring something new."""
        wanted = {self._woken, *self._listeners.values()}
        wanted |= {each.source for one in self._connections for each in one.directions if each.size < _MOST_WAITING}
        registered = {key.fileobj for key in self._selector.get_map().values()}
        for gone in registered - wanted:
            self._selector.unregister(gone)
        for new in wanted - registered:
            self._selector.register(new, selectors.EVENT_READ)

    def _close(self, connection: _Connection) -> None:
        self._connections.remove(connection)
        for end in (connection.near, connection.far):
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(end)
            end.close()
