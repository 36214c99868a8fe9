"""The web server as a process: listens, prints the link, and ends cleanly at Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import secrets
import signal
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kuijia_app.framework.certificate_expiry import ExpiryWatch
from kuijia_app.framework.followed_tls import FollowedTls
from kuijia_base.errors import InputError
from kuijia_base.log_lines import DEFAULT_FORM, DEFAULT_LEVEL, part_logger, set_up_logs
from testbed.web.access import HostRules
from testbed.web.app import STALL, make_app
from testbed.web.backend import Backend
from testbed.web.hub import Hub
from testbed.web.recording import Recorder
from testbed.web.tls import TlsPair, follow

MOST_CONNECTIONS = 512
MOST_OF_A_CLIENT = 64
"""Connections of one address; those of this machine share one, so that only the total limits them."""

_UNREAD_BYTES = 256 * 1024
"""Bytes that the kernel keeps for a reader who does not read."""


class PageListener(socket.socket):
    """Closes connections beyond the limits as soon as they are accepted, so that those that exist go on.

    They are counted before TLS and HTTP begin: a peer without a token, or without a handshake, takes a place, too. On
    Windows, whose event loop does not call `accept`, there are no limits.

    Attributes:
        accepted: number of connections so far.
    """

    def __init__(self, family: socket.AddressFamily) -> None:
        super().__init__(family)
        self.accepted = 0
        self._open: list[tuple[str, socket.socket]] = []

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection and its peer; raises ConnectionAbortedError, which event loops expect."""
        connection, peer = super().accept()
        self.accepted += 1
        client = str(peer[0])
        self._open = [each for each in self._open if each[1].fileno() != -1]
        if len(self._open) >= MOST_CONNECTIONS or self._has_all(client):
            connection.close()
            raise ConnectionAbortedError("too many connections")
        self._open.append((client, connection))
        return connection, peer

    def _has_all(self, client: str) -> bool:
        return not _is_this_machine(client) and sum(each == client for each, _ in self._open) >= MOST_OF_A_CLIENT


def _is_this_machine(client: str) -> bool:
    address = ipaddress.ip_address(client.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def listen(address: str, port: int) -> PageListener:
    """Return a socket that listens; what it accepts is closed when a peer leaves data unread for long.

    Raises:
        InputError: the address is none of this machine, or the port is not free.
    """
    place = f"{address}:{port}"
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    except ValueError as error:
        raise InputError("--bind", "", f"found {address!r}", "an IP address of this machine") from error
    listener = PageListener(family)
    try:
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD_BYTES)
        listener.bind((address, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        expected = "an address of this machine and a port that is free (--port 0 takes any)"
        raise InputError("--port", "", f"cannot listen on {place} ({error.strerror})", expected) from error
    return listener


SILENT_SECONDS = 20.0
"""Time in which the head of a request must arrive."""


class PunctualProtocol(H11Protocol):
    """Closes a connection on which no request has begun for a while, also one whose head comes in small pieces."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self.loop.call_later(SILENT_SECONDS, self._look, None)

    def _look(self, request: object) -> None:
        """Close the connection if its last request, None if it had none, is still this one and has been answered."""
        if self.transport.is_closing():
            return
        is_answered = request is None or self.cycle.response_complete
        if self.cycle is request and is_answered:
            self.transport.close()
        else:
            self.loop.call_later(SILENT_SECONDS, self._look, self.cycle)


PORT = 8400
LOOPBACK = "127.0.0.1"

_SECONDS_TO_END = 2
_COLLECTED_EACH = 32
"""Connections after which cyclic garbage is searched for: those of asyncio by TLS are cycles, each with a buffer of
256 KiB, and a few objects that Python does not search for by itself before there are 3,000 of them."""

_FIRST_PAUSE, _LAST_PAUSE = 1.0, 64.0
"""Seconds until garbage is searched for again; they double, as connections end after they were accepted, those in a
handshake within a minute."""

_TOKEN_BYTES = 24


@dataclass(frozen=True)
class Serving:
    """Options of the server.

    Attributes:
        address: address to listen on.
        port: port to listen on, 0 for a free one.
        names: further names by which browsers may call it; with TLS the first stands in the link.
        view_only: True to refuse all actions.
        recorder: takes down what is shown.
        token: the secret of the link; a random one by default.
        stall: seconds after which a reader that does not read is dropped.
        tls: private key and certificate for HTTPS; None serves HTTP.
    """

    address: str = LOOPBACK
    port: int = PORT
    names: Sequence[str] = ()
    view_only: bool = False
    recorder: Recorder | None = None
    token: str = ""
    stall: float = STALL
    tls: TlsPair | None = None


@dataclass(frozen=True)
class PageLink:
    """The link that opens the page: its address, and the token."""

    address: str
    port: int
    token: str
    scheme: str = "http"

    @property
    def server(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{host}:{self.port}/"

    @property
    def is_encrypted(self) -> bool:
        return self.scheme == "https"

    @property
    def url(self) -> str:
        # Browsers do not send what follows the hash, so that no log has the token.
        return f"{self.server}#token={self.token}"


def serve(backend: Backend, serving: Serving, ready: Callable[[PageLink], None]) -> None:
    """Serve until a signal asks to end; `ready` receives the link once browsers can connect.

    Raises:
        InputError: the address, the port or the files for TLS cannot be used.
    """
    followed = None if serving.tls is None else follow(serving.tls)
    token = serving.token or secrets.token_urlsafe(_TOKEN_BYTES)
    with contextlib.closing(listen(serving.address, serving.port)) as listener:
        hub = Hub(backend, view_only=serving.view_only, recorder=serving.recorder)
        app = make_app(
            backend,
            token,
            hosts=HostRules(serving.address, serving.names),
            view_only=serving.view_only,
            hub=hub,
            stall=serving.stall,
        )
        config = uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            http=PunctualProtocol,
            timeout_graceful_shutdown=_SECONDS_TO_END,
            h11_max_incomplete_event_size=64 * 1024,
            ssl_keyfile=None if serving.tls is None else serving.tls.key,
            ssl_certfile=None if serving.tls is None else serving.tls.certificate,
        )
        if followed is not None:
            _use(config, followed)
        scheme = "http" if followed is None else "https"
        expiry = ExpiryWatch({} if serving.tls is None else {"own": serving.tls.certificate})
        link = PageLink(_host(serving), listener.getsockname()[1], token, scheme)
        server = _Server(config, lambda: ready(link), hub.close, expiry, listener)
        set_up_logs(DEFAULT_LEVEL, DEFAULT_FORM)
        gc.freeze()  # what is there now stays: later searches for garbage need not look at it
        try:
            asyncio.run(server.serve(sockets=[listener]))
        finally:
            gc.unfreeze()


def _host(serving: Serving) -> str:
    """Return the name for the link; with TLS one of the names, if there are any, since certificates have these."""
    if serving.tls is not None and serving.names:
        return serving.names[0]
    return LOOPBACK if ipaddress.ip_address(serving.address).is_unspecified else serving.address


def _use(config: uvicorn.Config, followed: FollowedTls) -> None:
    """Take the certificate of each connection from files that may change meanwhile."""

    def choose(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = followed()

    config.load()
    assert config.ssl is not None
    config.ssl.sni_callback = choose


class _Server(uvicorn.Server):
    """A server that says when it is ready and when its certificate expires, and that treats Ctrl-C as a normal end."""

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        end: Callable[[], None],
        expiry: ExpiryWatch,
        listener: PageListener,
    ) -> None:
        super().__init__(config)
        self._listener = listener
        self._collected_at = 0
        self._pause, self._collect_at = _FIRST_PAUSE, inf
        self._ready, self._end_streams, self._expiry = ready, end, expiry

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()
            self._look_at_certificate()

    async def on_tick(self, counter: int) -> bool:
        self._look_at_certificate()
        self._collect_connections(time.monotonic())
        return await super().on_tick(counter)

    def _collect_connections(self, now: float) -> None:
        if self._listener.accepted >= self._collected_at + _COLLECTED_EACH:
            self._collected_at, self._pause = self._listener.accepted, _FIRST_PAUSE
        elif now >= self._collect_at:
            self._pause *= 2
        else:
            return
        self._collect_at = now + self._pause if self._pause <= _LAST_PAUSE else inf
        gc.collect()

    def _look_at_certificate(self) -> None:
        news, warnings = self._expiry.look()
        for line in news:
            part_logger("web").info(line)
        for line in warnings:
            part_logger("web").warning(line)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, lambda *_: loop.call_soon_threadsafe(self._end)) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def _end(self) -> None:
        self._end_streams()
        self.should_exit = True
