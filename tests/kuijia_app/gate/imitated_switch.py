"""A switch made of a socket: it has no packets, but answers a controller like one, or does not, as a test wants."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType

HEADER = struct.Struct("!BBHI")
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, EXPERIMENTER, FEATURES_REQUEST, FEATURES_REPLY = 0, 1, 2, 3, 4, 5, 6
PORT_STATUS, FLOW_MOD, GROUP_MOD, MULTIPART_REQUEST, MULTIPART_REPLY = 12, 14, 15, 18, 19
BARRIER_REQUEST, BARRIER_REPLY, ROLE_REQUEST, ROLE_REPLY = 20, 21, 24, 25
FLOW, GROUP, TABLE, GROUP_DESC, METER, PORT_DESC = 1, 6, 3, 7, 9, 13
LINK_DOWN = 1
PATIENCE = 30.0


def message(kind: int, body: bytes = b"", xid: int = 0, version: int = 4) -> bytes:
    return HEADER.pack(version, kind, HEADER.size + len(body), xid) + body


def features(datapath_id: int, xid: int = 0) -> bytes:
    return message(FEATURES_REPLY, struct.pack("!QIBB2xII", datapath_id, 0, 254, 0, 0, 0), xid)


def port_description(number: int, *, live: bool = True) -> bytes:
    state = 0 if live else LINK_DOWN
    return struct.pack("!I4x6s2x16sIIIIIIII", number, bytes(6), b"port", 0, state, *[0] * 6)


def port_status(number: int, *, live: bool) -> bytes:
    return message(PORT_STATUS, struct.pack("!B7x", 2) + port_description(number, live=live))


def multipart(kind: int, body: bytes = b"", xid: int = 0, flags: int = 0) -> bytes:
    return message(MULTIPART_REPLY, struct.pack("!HH4x", kind, flags) + body, xid)


class ImitatedSwitch:
    """Connects at once, and answers on a thread of its own what a controller asks, as long as `answers` says so.

    What it is sent is in `received`: (time, type, message), oldest first; times are those of `time.monotonic`.
    """

    def __init__(
        self,
        port: int,
        datapath_id: int,
        ports: Iterable[int] = (),
        *,
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
        greets: bool = True,
    ) -> None:
        self.datapath_id = datapath_id
        self.answers = True
        self.received: list[tuple[float, int, bytes]] = []
        self.has_ended = False
        self._ports = tuple(ports)
        self._news = threading.Condition()
        self.socket = socket.create_connection((host, port), PATIENCE)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket)
        self._thread = threading.Thread(target=self._run, daemon=True)
        if greets:
            self.send(message(HELLO))
        self._thread.start()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def close(self) -> None:
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self._thread.join(PATIENCE)

    def __enter__(self) -> ImitatedSwitch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait_for(self, condition: Callable[[], bool], timeout: float = PATIENCE) -> bool:
        """Return True as soon as the condition holds of what has come, False when it does not in time."""
        with self._news:
            return self._news.wait_for(condition, timeout)

    def wait_until_ended(self, timeout: float = PATIENCE) -> bool:
        """Return True once the controller has ended the connection, False when it does not in time."""
        return self.wait_for(lambda: self.has_ended, timeout)

    def was_sent(self, kind: int, since: float = 0.0) -> bool:
        return any(each == kind and at >= since for at, each, _ in self.received)

    def _run(self) -> None:
        buffer = b""
        try:
            while data := self.socket.recv(1 << 16):
                at = time.monotonic()
                buffer += data
                while len(buffer) >= HEADER.size and len(buffer) >= (length := HEADER.unpack_from(buffer)[2]):
                    self._take(at, buffer[:length])
                    buffer = buffer[length:]
        except (OSError, ValueError):
            pass  # closed by either side
        with self._news:
            self.has_ended = True
            self._news.notify_all()

    def _take(self, at: float, data: bytes) -> None:
        _, kind, _, xid = HEADER.unpack_from(data)
        with self._news:
            self.received.append((at, kind, data))
            self._news.notify_all()
        if self.answers:
            self.send(self._answer(kind, xid, data))

    def _answer(self, kind: int, xid: int, data: bytes) -> bytes:
        if kind == FEATURES_REQUEST:
            return features(self.datapath_id, xid)
        if kind == MULTIPART_REQUEST:
            (asked,) = struct.unpack_from("!H", data, HEADER.size)
            ports = b"".join(map(port_description, self._ports)) if asked == PORT_DESC else b""
            return multipart(asked, ports, xid)
        if kind == EXPERIMENTER:
            return message(ERROR, struct.pack("!HH", 1, 3) + data[:64], xid)
        replies = {ECHO_REQUEST: ECHO_REPLY, BARRIER_REQUEST: BARRIER_REPLY, ROLE_REQUEST: ROLE_REPLY}
        if kind in replies:
            return message(replies[kind], data[HEADER.size :], xid)
        return b""
