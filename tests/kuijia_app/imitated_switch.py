"""A switch made of a socket: answers what a controller asks, says what a test has it say, and forwards nothing."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Sequence
from types import TracebackType

HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY = 0, 1, 2, 3
FEATURES_REQUEST, FEATURES_REPLY, PACKET_IN, FLOW_REMOVED, PORT_STATUS = 5, 6, 10, 11, 12
MULTIPART_REQUEST, MULTIPART_REPLY, BARRIER_REQUEST, BARRIER_REPLY = 18, 19, 20, 21
ROLE_REQUEST, ROLE_REPLY = 24, 25
"""Types of messages (OpenFlow 1.3.5, 7.1)."""

FLOWS, GROUP_DESCRIPTIONS, PORT_DESCRIPTIONS = 1, 7, 13
"""Types of multipart messages (7.3.5)."""

MORE = 1
DOWN = 1
_VERSION = 4
_HEADER = struct.Struct("!BBHI")
_PORT = struct.Struct("!I4x6s2x16s8I")
_PATIENCE = 30.0


class ImitatedSwitch:
    """One connection, from entering the block on; `silent_on` are the types of requests that it does not answer."""

    def __init__(
        self, controller_port: int, datapath_id: int, ports: Sequence[int], silent_on: frozenset[int] = frozenset()
    ) -> None:
        self._controller_port = controller_port
        self._datapath_id = datapath_id
        self._ports = ports
        self._silent_on = silent_on
        self._sending = threading.Lock()
        self.asked: dict[int, int] = {}
        """Type of a multipart request to the transaction id of the last one."""
        self.has_ended = threading.Event()
        """The controller has ended the connection."""
        self.is_answered = threading.Event()
        """It has sent a barrier, which has been answered unless that is left out."""

    def __enter__(self) -> ImitatedSwitch:
        self._socket = socket.create_connection(("127.0.0.1", self._controller_port))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(_PATIENCE)

    def send(self, kind: int, body: bytes = b"", xid: int = 0) -> None:
        """Send one message, if the connection has not ended."""
        with self._sending, contextlib.suppress(OSError):
            self._socket.sendall(_HEADER.pack(_VERSION, kind, _HEADER.size + len(body), xid) + body)

    def send_port_status(self, port: int, *, live: bool) -> None:
        self.send(PORT_STATUS, struct.pack("!B7x", 2) + self._port(port, live=live))

    def send_error(self, error_type: int, code: int, xid: int) -> None:
        self.send(ERROR, struct.pack("!HH", error_type, code) + _HEADER.pack(_VERSION, BARRIER_REQUEST, 8, xid), xid)

    def send_packet(self, port: int, cookie: int) -> None:
        """Send a packet-in without a packet, from an entry with a cookie (7.4.1)."""
        match = struct.pack("!HHHBBI4x", 1, 12, 0x8000, 0, 4, port)
        self.send(PACKET_IN, struct.pack("!IHBBQ", 0xFFFFFFFF, 0, 0, 0, cookie) + match + bytes(2))

    def send_removal(self, cookie: int) -> None:
        """Report that an entry with a cookie, which matched everything, has been deleted (7.4.2)."""
        deleted, empty_match = 2, struct.pack("!HH4x", 1, 4)
        self.send(FLOW_REMOVED, struct.pack("!QHBBIIHHQQ", cookie, 0, deleted, 0, 0, 0, 0, 0, 0, 0) + empty_match)

    def send_part(self, kind: int, body: bytes, xid: int, flags: int = 0) -> None:
        """Send a part of a multipart reply."""
        self.send(MULTIPART_REPLY, struct.pack("!HH4x", kind, flags) + body, xid)

    def _serve(self) -> None:
        self.send(HELLO)
        with contextlib.suppress(OSError), self._socket.makefile("rb") as stream:
            while len(header := stream.read(_HEADER.size)) == _HEADER.size:
                _, kind, length, xid = _HEADER.unpack(header)
                self._answer(kind, stream.read(length - _HEADER.size), xid)
        self.has_ended.set()

    def _answer(self, kind: int, body: bytes, xid: int) -> None:
        if kind == ECHO_REQUEST:
            self.send(ECHO_REPLY, body, xid)
        elif kind == FEATURES_REQUEST:
            self.send(FEATURES_REPLY, struct.pack("!QIBB2xII", self._datapath_id, 0, 254, 0, 0, 0), xid)
        elif kind == BARRIER_REQUEST:
            if BARRIER_REQUEST not in self._silent_on:
                self.send(BARRIER_REPLY, xid=xid)
            self.is_answered.set()
        elif kind == ROLE_REQUEST:
            self.send(ROLE_REPLY, body, xid)
        elif kind == MULTIPART_REQUEST:
            (asked,) = struct.unpack_from("!H", body)
            self.asked[asked] = xid
            described = b"".join(self._port(port, live=True) for port in self._ports)
            self.send_part(asked, described if asked == PORT_DESCRIPTIONS else b"", xid)

    def _port(self, port: int, *, live: bool) -> bytes:
        return _PORT.pack(port, b"\2\0\0\0\0\1", f"p{port}".encode(), 0, 0 if live else DOWN, *[0] * 6)
