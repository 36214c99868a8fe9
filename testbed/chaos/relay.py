"""Relays connections of switches and peers to controllers: delays, holds or resets each by itself."""

from __future__ import annotations

import contextlib
import random
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

_HOST = "127.0.0.1"
_CHUNK = 1 << 16
_MOST_WAITING = 1 << 20
"""Bytes that wait in one direction; beyond them nothing more is read, as on a full connection."""

_TURN_SECONDS = 0.5

_REPEATED_AFTER = 0.2
"""Seconds until TCP sends a lost segment again (RFC 6298 has more, Linux has this); what follows it waits."""

Channel = tuple[str, int]
"""A connection: the name of who connects, and the number of the controller."""


@dataclass
class Rule:
    """Treatment of a connection.

    Attributes:
        hold_from_near: nothing passes from who connects to the controller until it is released.
        hold_to_near: the same in the other direction.
        delay: seconds by which everything is late.
        loss: share of pieces that come as late as if a segment of TCP had been lost.
    """

    hold_from_near: bool = False
    hold_to_near: bool = False
    delay: float = 0.0
    loss: float = 0.0


@dataclass
class _Direction:
    """Bytes on their way, each chunk with the time at which it is due."""

    source: socket.socket
    target: socket.socket
    from_near: bool
    waiting: deque[tuple[float, bytes]] = field(default_factory=deque)
    size: int = 0


@dataclass
class _Connection:
    channel: Channel
    near: socket.socket
    far: socket.socket
    directions: tuple[_Direction, _Direction]


class Relay:
    """A relay with a port for each channel, in a thread of its own, in the namespace of the thread that starts it.

    Args:
        targets: TCP port on 127.0.0.1 that each channel leads to.
    """

    def __init__(self, targets: Mapping[Channel, int]) -> None:
        self._targets = dict(targets)
        self._rules = {channel: Rule() for channel in targets}
        self._listeners: dict[Channel, socket.socket] = {}
        self._chance = random.Random(0)
        self._connections: list[_Connection] = []
        self._lock = threading.Lock()
        self._ended = False
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    @property
    def ports(self) -> dict[Channel, int]:
        """Port to connect to for each channel."""
        return {channel: listener.getsockname()[1] for channel, listener in self._listeners.items()}

    def __enter__(self) -> Relay:
        for channel in self._rules:
            self._listeners[channel] = socket.create_server((_HOST, 0))
            self._listeners[channel].setblocking(False)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._wake.send(b".")
        self._thread.join()
        for connection in list(self._connections):
            self._close(connection)
        for each in (*self._listeners.values(), self._wake, self._woken):
            each.close()
        self._selector.close()

    def rule(self, channel: Channel, rule: Rule) -> None:
        """Treat a connection, and those that are made in its place later, by a rule."""
        with self._lock:
            self._rules[channel] = rule
        self._wake.send(b".")

    def reset(self, channel: Channel) -> None:
        """Close a connection; its near side will make another."""
        with self._lock:
            for connection in self._connections:
                if connection.channel == channel:
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
        for channel, listener in self._listeners.items():
            self._accept(channel, listener)
        due = _TURN_SECONDS
        for connection in list(self._connections):
            try:
                for direction in connection.directions:
                    due = min(due, self._move(direction, self._rules[connection.channel]))
            except OSError:
                self._close(connection)
        return due

    def _accept(self, channel: Channel, listener: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            near, _ = listener.accept()
            try:
                far = socket.create_connection((_HOST, self._targets[channel]), timeout=1)
            except OSError:  # the controller is dead: the near side sees that too
                near.close()
                return
            for end in (near, far):
                end.setblocking(False)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            directions = (_Direction(near, far, from_near=True), _Direction(far, near, from_near=False))
            self._connections.append(_Connection(channel, near, far, directions))

    def _move(self, direction: _Direction, rule: Rule) -> float:
        now = time.monotonic()
        if direction.size < _MOST_WAITING:
            with contextlib.suppress(BlockingIOError):
                data = direction.source.recv(_CHUNK)
                if not data:
                    raise ConnectionResetError
                late = rule.delay + (_REPEATED_AFTER if self._chance.random() < rule.loss else 0.0)
                direction.waiting.append((now + late, data))
                direction.size += len(data)
        if rule.hold_from_near if direction.from_near else rule.hold_to_near:
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
