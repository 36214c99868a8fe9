"""A connection that carries lines, with or without TLS, for one thread of the operating system under either framework.

Every call has a deadline, however slowly the other side sends or reads.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final, TypeVar

from kuijia_app.framework.certificate_names import may_be_controller, uris_shown
from kuijia_app.framework.seam import native_time, unpatched

if TYPE_CHECKING:
    import socket

Address = tuple[str, int]

_CHUNK: Final = 1 << 16
_Result = TypeVar("_Result")


def connected(address: Address, seconds: float, source: str | None = None) -> socket.socket:
    """Return a socket that is connected within this time, from an address of ours if one is given."""
    found: socket.socket = unpatched("socket").create_connection(address, seconds, source and (source, 0))
    return found


class LineConnection:
    """Sends and receives lines over a socket, which it closes at its end; used as a context manager.

    All methods raise OSError when the connection fails, ends within a line, or a deadline has passed.
    """

    def __init__(self, plain: socket.socket) -> None:
        """Make a connection without TLS."""
        self._plain = plain
        self._deadline = 0.0
        self._received = bytearray()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None

    def __enter__(self) -> LineConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._plain.close()

    def secure(self, context: ssl.SSLContext, seconds: float, *, server_side: bool) -> None:
        """Go on by TLS; raises OSError if the other side is no controller by its certificate."""
        # In memory: under Ryu the sockets of `ssl` are those of green threads.
        tls = self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=server_side)
        self._deadline = native_time.monotonic() + seconds
        self._exchanged(tls.do_handshake)
        if not may_be_controller(uris_shown(tls.getpeercert())):
            raise OSError("its certificate is not that of a controller")

    def send(self, line: bytes, seconds: float) -> None:
        """Send a line within this time."""
        self._deadline = native_time.monotonic() + seconds
        data = memoryview(line + b"\n")
        tls = self._tls
        if tls is None:
            self._send_plain(data)
            return
        while data:
            data = data[self._exchanged(lambda rest=data[:_CHUNK]: tls.write(rest)) :]  # type: ignore[misc]

    def receive(self, longest: int, seconds: float) -> bytes | None:
        """Return the next line without its end, None after the last one; it must be complete within this time."""
        self._deadline = native_time.monotonic() + seconds
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if searched > longest:
                raise OSError(f"a line of more than {longest} bytes")
            chunk = self._read()
            if not chunk:
                if searched:
                    raise OSError("it ended within a line")
                return None
            self._received += chunk
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line

    def _read(self) -> bytes:
        tls = self._tls
        if tls is None:
            return self._receive_plain()
        try:
            return self._exchanged(lambda: tls.read(_CHUNK))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    def _exchanged(self, operation: Callable[[], _Result]) -> _Result:
        """Return what an operation of TLS returns once enough has been sent and received for it."""
        while True:
            try:
                result = operation()
            except ssl.SSLWantReadError:
                self._flush()
            except ssl.SSLError:
                self._flush()  # the other side learns why
                raise
            else:
                self._flush()
                return result
            chunk = self._receive_plain()
            if chunk:
                self._incoming.write(chunk)
            else:
                self._incoming.write_eof()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._send_plain(memoryview(self._outgoing.read()))

    def _send_plain(self, data: memoryview) -> None:
        while data:
            self._plain.settimeout(self._left())
            data = data[self._plain.send(data[:_CHUNK]) :]

    def _receive_plain(self) -> bytes:
        self._plain.settimeout(self._left())
        return self._plain.recv(_CHUNK)

    def _left(self) -> float:
        left = self._deadline - native_time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return float(left)
