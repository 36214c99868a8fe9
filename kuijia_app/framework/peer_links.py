"""Connections between controllers: each sends its latest message to all peers, a line of JSON, and reads theirs.

Threads of the operating system do this, so pairs need os-ken.
"""

from __future__ import annotations

import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from kuijia_app.framework.certificate_names import may_be_controller, uris_shown
from kuijia_app.framework.listening import address_of, cannot_listen
from kuijia_app.framework.tls import TlsFiles
from kuijia_base.errors import InputError
from kuijia_base.followed_tls import FollowedTls, Passphrase

Address = tuple[str, int]

Message = Callable[[Any], tuple[bytes, Any]]
"""Returns a line for a connection, and the argument of the next message on the same connection; that of the first is
None. It is called on threads of the connections."""

LONGEST_LINE: Final = 64 << 20
"""Bytes: a message may hold several plans."""

_MOST_CONNECTIONS: Final = 16
_PATIENCE: Final = 1.0
"""Seconds for connecting, for the TLS handshake and for sending one message."""

_IDLE: Final = 10.0
_PAUSE: Final = 0.1
_LOG = logging.getLogger("kuijia.peers")


class PeerLinks:
    """Sends and receives messages; `received` is called with each line, on a thread of its connection.

    Only the latest message waits for a peer that is slow or away.
    """

    def __init__(
        self, listen: Address, peers: Sequence[Address], tls: TlsFiles | None, received: Callable[[bytes], None]
    ) -> None:
        """Start to listen; raises InputError if that is not possible."""
        self._received = received
        self._server = None if tls is None else _followed(tls, _server)
        self._client = None if tls is None else _followed(tls, _client)
        self._changed = threading.Condition()
        self._latest: Message | None = None
        self._number = 0
        self._places = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        family, address = address_of(*listen)
        self._listening = socket.socket(family)
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._listening.bind(address)
        except OSError as error:
            raise cannot_listen(*listen, error) from error
        self._listening.listen()
        threading.Thread(target=self._accept, name="peers", daemon=True).start()
        for peer in peers:
            threading.Thread(target=self._send_to, args=(peer,), name=f"peer {peer[0]}:{peer[1]}", daemon=True).start()

    def send(self, message: Message) -> None:
        """Send a message to all peers instead of one that still waits."""
        with self._changed:
            self._latest = message
            self._number += 1
            self._changed.notify_all()

    def _send_to(self, peer: Address) -> None:
        while True:
            try:
                with socket.create_connection(peer, _PATIENCE) as plain, self._as_client(plain) as connection:
                    self._send_over(connection)
            except OSError:
                time.sleep(_PAUSE)

    def _send_over(self, connection: socket.socket) -> None:
        sent, memory = 0, None
        while True:
            with self._changed:
                while self._latest is None or self._number == sent:
                    self._changed.wait()
                message, sent = self._latest, self._number
            line, memory = message(memory)
            connection.sendall(line + b"\n")

    def _accept(self) -> None:
        while True:
            try:
                connected, address = self._listening.accept()
            except OSError:
                time.sleep(_PAUSE)
                continue
            if not self._places.acquire(blocking=False):
                connected.close()
                continue
            threading.Thread(target=self._read, args=(connected, str(address[0])), name="peer", daemon=True).start()

    def _read(self, plain: socket.socket, host: str) -> None:
        try:
            plain.settimeout(_PATIENCE)
            with plain, self._as_server(plain) as connection:
                connection.settimeout(_IDLE)
                with connection.makefile("rb") as lines:
                    while (line := lines.readline(LONGEST_LINE)).endswith(b"\n"):
                        self._received(line)
        except (OSError, ValueError) as error:
            _LOG.warning("connection of peer %s ended: %s", host, error)
        finally:
            self._places.release()

    def _as_server(self, plain: socket.socket) -> socket.socket:
        if self._server is None:
            return plain
        return _with_controller(self._server().wrap_socket(plain, server_side=True))

    def _as_client(self, plain: socket.socket) -> socket.socket:
        if self._client is None:
            return plain
        return _with_controller(self._client().wrap_socket(plain))


def _with_controller(connection: ssl.SSLSocket) -> ssl.SSLSocket:
    """Return the connection; raises OSError if the other side is no controller by its certificate."""
    if not may_be_controller(uris_shown(connection.getpeercert())):
        connection.close()
        raise OSError("its certificate is not that of a controller")
    return connection


def _followed(tls: TlsFiles, context: Callable[[], ssl.SSLContext]) -> FollowedTls:
    """Return the settings of one side; raises InputError if the files are not usable."""

    def make(passphrase: Passphrase | None) -> ssl.SSLContext:
        return _loaded(context(), tls, passphrase)

    try:
        return FollowedTls([tls.key, tls.certificate, tls.ca], make)
    except OSError as error:
        raise InputError(
            tls.certificate, "", f"not usable for TLS: {error}", "a key and certificates in PEM"
        ) from error


def _server() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def _client() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # a certificate of the authority is what makes a peer
    return context


def _loaded(context: ssl.SSLContext, tls: TlsFiles, passphrase: Passphrase | None) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(tls.certificate, tls.key, passphrase)
    context.load_verify_locations(tls.ca)
    return context
