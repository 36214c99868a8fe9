"""Serves a page of metrics over HTTP, from one thread of the operating system.

It is small so that it disturbs nobody: the program's threads only write numbers (`tally`), and
here one page is made at a time. It waits for all clients together, so that none keeps another waiting. Under eventlet
it must be given the modules without eventlet's patches, or its waiting would be that of the whole program.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from http import HTTPStatus
from typing import Any, Protocol

from kuijia_app.framework.metrics.address import PageAddress
from kuijia_app.framework.metrics.tally import Tally
from kuijia_base.additions import require_installed
from kuijia_base.errors import KuijiaError
from kuijia_base.fair_places import FairPlaces, origin_of

PATH = "/metrics"

_PATIENCE = 5.0
"""Seconds from its connection in which a client must send its request."""

_READING = 20.0
"""Seconds from then on in which it must read the answer."""

_ASKING, _ASKING_OF_ORIGIN = 256, 64
"""Clients whose request is not complete: in all and from one origin."""

_ANSWERED, _ANSWERED_OF_ORIGIN = 64, 16
"""Clients that read their answer."""

_LONGEST_REQUEST = 8192
_CHUNK = 4096
_BACKLOG = 1024
_ACCEPTED = 64
"""Connections accepted in one turn."""

_PAUSE = 0.1
"""Seconds before another attempt to accept a connection, when there are no descriptors left."""

_PAGES = 4
"""Pages made in one turn, each for all requests that have come before it and accept the same formats."""

_REST = 0.05
"""Most seconds for which the thread rests after its pages, for as long as making them took: its clients, however many,
get no more than half of a processor."""

_BREATH = 0.01
"""Seconds for which it rests after a turn in which some client had to go for another one."""

_TICK_MS = 250
_READABLE, _WRITABLE = 0x001, 0x004
"""Those of poll(2)."""


class PortTakenError(KuijiaError):
    """Metrics cannot be served at an address: status 1, as it may be free at the next attempt of a supervisor."""


class PageSource(Protocol):
    """Makes the page for a request."""

    def text(self, accept: str) -> tuple[bytes, str]:
        """Return the page and its content type, for the header Accept of a request."""


class _Client:
    """One connection: what it has sent of its request, then what is left of the answer."""

    def __init__(self, connected: Any, deadline: float) -> None:  # noqa: ANN401  # a socket of either kind
        self.socket = connected
        self.deadline = deadline
        self.request = bytearray()
        self.answer: memoryview | None = None


class MetricsServer:
    """Listens from construction on, and serves from `start` to `close`: a page of a tally, or of another source.

    `sockets`, `threads`, `clock` and `polling` stand for the modules `socket`, `threading`, `time` and `select`.

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
        polling: Any = select,  # noqa: ANN401  # a module
    ) -> None:
        require_installed("prometheus_client", "metrics")
        self._page: PageSource
        if isinstance(source, Tally):
            # Slow to import, and programs without metrics need none of it.
            from kuijia_app.framework.metrics.exposition import MetricsPage  # noqa: PLC0415  # see above

            self._page = MetricsPage(source)
        else:
            self._page = source
        self._sockets, self._threads, self._clock = sockets, threads, clock
        self._is_closed = False
        self._thread: Any = None
        self._poll = polling.poll()
        self._clients: dict[int, _Client] = {}
        self._pages: dict[str, tuple[bytes, str]] = {}
        self._asking: FairPlaces[_Client] = FairPlaces(_ASKING, _ASKING_OF_ORIGIN)
        self._answered: FairPlaces[_Client] = FairPlaces(_ANSWERED, _ANSWERED_OF_ORIGIN)
        family = sockets.AF_INET6 if address.host.version == 6 else sockets.AF_INET
        try:
            self._listening = sockets.socket(family, sockets.SOCK_STREAM)
            self._listening.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
            self._listening.bind((str(address.host), address.port))
            self._listening.listen(_BACKLOG)
            self._listening.setblocking(False)
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
            # A thread that waits for its clients does not see that a socket is closed.
            with self._sockets.socket(self._listening.family) as last:
                last.connect(self._listening.getsockname())
            self._thread.join()
        self._listening.close()

    def _serve(self) -> None:
        self._poll.register(self._listening.fileno(), _READABLE)
        while not self._is_closed:
            ready = [descriptor for descriptor, _ in self._poll.poll(_TICK_MS if self._clients else None)]
            now = self._clock.monotonic()
            self._answer([self._clients[descriptor] for descriptor in ready if descriptor in self._clients])
            if self._listening.fileno() in ready:
                self._accept(now)
            for client in [each for each in self._clients.values() if each.deadline <= now]:
                self._drop(client)
        for client in list(self._clients.values()):
            self._drop(client)

    def _accept(self, now: float) -> None:
        """Take in clients that wait; those that have to go for them go."""
        is_full = False
        for _ in range(_ACCEPTED):
            try:
                connected, address = self._listening.accept()
            except BlockingIOError:
                break
            except OSError:
                self._clock.sleep(_PAUSE)
                return
            connected.setblocking(False)
            client = self._clients[connected.fileno()] = _Client(connected, now + _PATIENCE)
            self._poll.register(connected.fileno(), _READABLE)
            is_full |= self._place(client, self._asking, str(address[0]))
        if is_full:
            self._clock.sleep(_BREATH)

    def _place(self, client: _Client, places: FairPlaces[_Client], host: str) -> bool:
        """Give a client a place; return True if another one had to go for it."""
        leaves = places.take(client, origin_of(host))
        if leaves is not None:
            self._drop(leaves)
        return leaves is not None

    def _answer(self, clients: list[_Client]) -> None:
        """Go on with clients that are ready: first with those from whose addresses few have come."""
        began = self._clock.monotonic()
        self._pages.clear()
        for client in sorted(clients, key=self._asking.rank):
            if client.answer is not None or len(self._pages) < _PAGES:
                self._go_on(client)
        if self._pages:
            self._clock.sleep(min(self._clock.monotonic() - began, _REST))

    def _go_on(self, client: _Client) -> None:
        """Read more of a client's request, or send it more of the answer."""
        try:
            if client.answer is None:
                self._read(client)
            else:
                client.answer = client.answer[client.socket.send(client.answer) :]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # it has gone
            self._drop(client)
            return
        if client.answer is not None and not client.answer:
            self._drop(client)

    def _read(self, client: _Client) -> None:
        chunk = client.socket.recv(_CHUNK)
        client.request += chunk
        if not chunk:
            self._drop(client)
        elif b"\r\n\r\n" in client.request or len(client.request) > _LONGEST_REQUEST:
            host = str(client.socket.getpeername()[0])
            client.answer = memoryview(self._response(bytes(client.request)))
            client.deadline = self._clock.monotonic() + _READING
            self._asking.leave(client)
            self._place(client, self._answered, host)
            self._poll.modify(client.socket.fileno(), _WRITABLE)

    def _drop(self, client: _Client) -> None:
        descriptor = client.socket.fileno()
        if self._clients.get(descriptor) is client:
            del self._clients[descriptor]
            self._poll.unregister(descriptor)
            self._asking.leave(client)
            self._answered.leave(client)
            client.socket.close()

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
            accept = _header(lines[1:], "accept")
            if accept not in self._pages:
                self._pages[accept] = self._page.text(accept)
            body, content_type = self._pages[accept]
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
