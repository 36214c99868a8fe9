"""Proxy between a switch and the scheduler that drops the switch's answers to polls on demand."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from types import TracebackType

_HEADER = struct.Struct("!BBHI")
_MULTIPART_REPLY, _FLOWS = 19, 1
"""Types of a message and of a multipart reply (OpenFlow 1.3, 7.1 and 7.3.5)."""


class MutedPolls:
    """A proxy for one switch at `port` of the loopback, within its block; it drops answers while `muted`."""

    def __init__(self, controller_port: int) -> None:
        self.muted = False
        self._controller_port = controller_port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._sockets: list[socket.socket] = [self._server]

    def __enter__(self) -> MutedPolls:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._sockets:
            # Closing alone would not wake the threads that read.
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                switch, _ = self._server.accept()
            except OSError:
                return
            controller = socket.create_connection(("127.0.0.1", self._controller_port))
            self._sockets += [switch, controller]
            for source, target in ((switch, controller), (controller, switch)):
                threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        try:
            with source.makefile("rb") as stream:
                while header := stream.read(_HEADER.size):
                    _, kind, length, _ = _HEADER.unpack(header)
                    body = stream.read(length - _HEADER.size)
                    is_answer = kind == _MULTIPART_REPLY and body[:2] == _FLOWS.to_bytes(2, "big")
                    if not (self.muted and is_answer):
                        target.sendall(header + body)
        except OSError:
            pass
