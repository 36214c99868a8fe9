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

from kuijia_app.framework.listening import address_of, cannot_listen
from kuijia_app.framework.tls import TlsFiles

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
        self._tls = tls
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
        if self._tls is None:
            return plain
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_REQUIRED
        return _loaded(context, self._tls).wrap_socket(plain, server_side=True)

    def _as_client(self, plain: socket.socket) -> socket.socket:
        if self._tls is None:
            return plain
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False  # a certificate of the authority is what makes a peer
        return _loaded(context, self._tls).wrap_socket(plain)


def _loaded(context: ssl.SSLContext, tls: TlsFiles) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(tls.certificate, tls.key)
    context.load_verify_locations(tls.ca)
    return context
