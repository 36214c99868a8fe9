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

import uvicorn

from kuijia_base.certificate_expiry import ExpiryWatch
from kuijia_base.followed_tls import FollowedTls
from kuijia_base.log_lines import DEFAULT_FORM, DEFAULT_LEVEL, part_logger, set_up_logs
from testbed.web.access import HostRules
from testbed.web.app import STALL, make_app
from testbed.web.backend import Backend
from testbed.web.hub import Hub
from testbed.web.listener import PageListener, listen
from testbed.web.punctual import PunctualProtocol
from testbed.web.recording import Recorder
from testbed.web.tls import TlsPair, follow

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
    """A server that says when it is ready and when its certificate expires, and for which Ctrl-C is no error."""

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
