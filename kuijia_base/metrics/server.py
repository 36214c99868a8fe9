"""Serves a page of metrics over HTTP, from one thread of the operating system.

It is small so that it disturbs nobody: the program's threads only write numbers (`kuijia_base.metrics.tally`), and
here one request is answered at a time, with the page made for it. It needs no event loop. Under eventlet it must be
given the modules without eventlet's patches, or its waiting would be that of the whole program.
"""

from __future__ import annotations

import socket
import threading
import time
from http import HTTPStatus
from typing import Any, Protocol

from kuijia_base.errors import KuijiaError
from kuijia_base.extras import require_installed
from kuijia_base.metrics.address import PageAddress
from kuijia_base.metrics.tally import Tally

PATH = "/metrics"

_PATIENCE = 2.0
"""Seconds in which a client must send its request and read the answer; the next one waits meanwhile."""

_LONGEST_REQUEST = 8192
_CHUNK = 4096
_BACKLOG = 16
_PAUSE = 0.1
"""Seconds before another attempt to accept a connection, when there are no descriptors left."""


class PortTakenError(KuijiaError):
    """Metrics cannot be served at an address: status 1, as it may be free at the next attempt of a supervisor."""


class PageSource(Protocol):
    """Makes the page for a request."""

    def text(self, accept: str) -> tuple[bytes, str]:
        """Return the page and its content type, for the header Accept of a request."""


class MetricsServer:
    """Listens from construction on, and serves from `start` to `close`: a page of a tally, or of another source.

    `sockets`, `threads` and `clock` stand for the modules `socket`, `threading` and `time`.

    Raises:
        PortTakenError: the address cannot be listened on.
        MissingPackageError: `prometheus_client` is not installed.
    """

    def __init__(
        self,
        address: PageAddress,
        source: Tally | PageSource,
        *,
        sockets: Any = socket,  # noqa: ANN401  # a module
        threads: Any = threading,  # noqa: ANN401  # a module
        clock: Any = time,  # noqa: ANN401  # a module
    ) -> None:
        require_installed("prometheus_client", "metrics")
        self._page: PageSource
        if isinstance(source, Tally):
            # Slow to import, and programs without metrics need none of it.
            from kuijia_base.metrics.exposition import Page  # noqa: PLC0415  # see above

            self._page = Page(source)
        else:
            self._page = source
        self._sockets, self._threads, self._clock = sockets, threads, clock
        self._is_closed = False
        self._thread: Any = None
        family = sockets.AF_INET6 if address.host.version == 6 else sockets.AF_INET
        try:
            self._listening = sockets.socket(family, sockets.SOCK_STREAM)
            self._listening.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
            self._listening.bind((str(address.host), address.port))
            self._listening.listen(_BACKLOG)
        except OSError as error:
            raise PortTakenError(f"--metrics {address}: cannot listen: {error.strerror}") from error

    @property
    def port(self) -> int:
        number: int = self._listening.getsockname()[1]
        return number

    def start(self) -> None:
        """Serve from now on, in a thread that ends with the process."""
        self._thread = self._threads.Thread(target=self._serve, name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving; return when the thread has ended."""
        self._is_closed = True
        if self._thread is not None:
            # A thread that waits for a connection does not see that its socket is closed.
            with self._sockets.socket(self._listening.family) as last:
                last.connect(self._listening.getsockname())
            self._thread.join()
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                self._clock.sleep(_PAUSE)
                continue
            if self._is_closed:
                client.close()
                return
            try:
                self._answer(client)
            except OSError:
                continue  # it has gone, or is too slow
            finally:
                client.close()

    def _answer(self, client: Any) -> None:  # noqa: ANN401  # a socket of either kind
        until = self._clock.monotonic() + _PATIENCE
        request = bytearray()
        while b"\r\n\r\n" not in request and len(request) <= _LONGEST_REQUEST:
            client.settimeout(max(until - self._clock.monotonic(), 0.001))
            chunk = client.recv(_CHUNK)
            if not chunk:
                return
            request += chunk
        client.settimeout(_PATIENCE)
        client.sendall(self._response(bytes(request)))

    def _response(self, request: bytes) -> bytes:
        lines = request.decode("latin-1").split("\r\n")
        method, target = (*lines[0].split(" "), "", "")[:2]
        if b"\r\n\r\n" not in request:
            return _message(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, b"the request is too long\n")
        if method not in ("GET", "HEAD"):
            return _message(HTTPStatus.METHOD_NOT_ALLOWED, b"only GET and HEAD\n", extra="Allow: GET, HEAD\r\n")
        if target.partition("?")[0] != PATH:
            return _message(HTTPStatus.NOT_FOUND, f"metrics are at {PATH}\n".encode())
        try:
            body, content_type = self._page.text(_header(lines[1:], "accept"))
        except Exception as error:  # noqa: BLE001  # whatever it is, the program goes on, and so does this thread
            text = f"the metrics cannot be read: {type(error).__name__}\n"
            return _message(HTTPStatus.INTERNAL_SERVER_ERROR, text.encode())
        return _message(HTTPStatus.OK, body, content_type, is_shown=method == "GET")


def _header(lines: list[str], name: str) -> str:
    values = [value.strip() for key, _, value in (line.partition(":") for line in lines) if key.lower() == name]
    return ", ".join(values)


def _message(
    status: HTTPStatus,
    body: bytes,
    content_type: str = "text/plain; charset=utf-8",
    *,
    extra: str = "",
    is_shown: bool = True,
) -> bytes:
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        f"{extra}Connection: close\r\n\r\n"
    )
    return head.encode() + (body if is_shown else b"")
