"""Commands to an Open vSwitch daemon over its control socket: like `ovs-appctl`, without a process for each."""

from __future__ import annotations

import json
import socket
import time
from itertools import count
from pathlib import Path

from kuijia_base.bounded_output import require_short
from kuijia_base.errors import TestbedError

_TIMEOUT = 60.0
_CHUNK = 1 << 16


class ControlSocket:
    """One connection; JSON-RPC 1.0 (RFC 7047, section 4, has the framing: objects that simply follow each other)."""

    def __init__(self, path: Path) -> None:
        """Connect; raise TestbedError if no daemon listens there."""
        self._path = path
        self._ids = count()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_TIMEOUT)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise TestbedError(f"no daemon answers at {path}: {error.strerror or error}") from error

    def __enter__(self) -> ControlSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def command(self, name: str, *arguments: str) -> str:
        """Run a command of ovs-vswitchd(8) and return its answer; raises TestbedError if it is refused."""
        request = {"id": next(self._ids), "method": name, "params": list(arguments)}
        try:
            self._socket.sendall(json.dumps(request).encode())
            answer = self._answer()
        except OSError as error:
            raise TestbedError(f"{name} had no answer from {self._path}: {error.strerror or error}") from error
        if answer.get("error") is not None:
            raise TestbedError(f"{name} was refused: {str(answer['error']).strip()}")
        return str(answer["result"])

    def _answer(self) -> dict[str, object]:
        received = b""
        deadline = time.monotonic() + _TIMEOUT
        while True:
            chunk = self._socket.recv(_CHUNK)
            if not chunk:
                raise TestbedError(f"{self._path} closed the connection")
            received += chunk
            require_short(len(received), str(self._path))
            if time.monotonic() > deadline:
                raise TestbedError(f"{self._path} has not ended its answer after {_TIMEOUT:g} s")
            if not received.rstrip().endswith(b"}"):
                continue
            try:
                answer = json.loads(received)
            except ValueError:  # the rest has not arrived yet
                continue
            return dict(answer)
