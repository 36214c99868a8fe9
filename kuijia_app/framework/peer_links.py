"""Connections between controllers: each sends its latest message to all peers, a line of JSON, and reads theirs.

Threads of the operating system do this, under Ryu too: what they call must not touch what belongs to green threads.
"""

from __future__ import annotations

import ssl
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from kuijia_app.framework.followed_tls import FollowedTls, Passphrase
from kuijia_app.framework.line_connection import Address, LineConnection, connected
from kuijia_app.framework.listening import address_of, cannot_listen
from kuijia_app.framework.seam import native_threading, native_time, unpatched
from kuijia_app.framework.tls import TlsFiles
from kuijia_base.errors import InputError, one_line

if TYPE_CHECKING:
    import socket


MOST: Final = 32
"""Connections at the same time."""

MOST_UNPROVEN: Final = 4
"""Connections of one origin at the same time that have not brought a message yet."""


class Places:
    """Gives a place to each connection if there is one; for threads of the operating system."""

    def __init__(self) -> None:
        self._lock = native_threading.Lock()
        self._taken = 0
        self._unproven: Counter[str] = Counter()

    def take(self, origin: str) -> PeerPlace | None:
        """Return a place for a connection from there, None if too many are taken."""
        with self._lock:
            if self._taken >= MOST or self._unproven[origin] >= MOST_UNPROVEN:
                return None
            self._taken += 1
            self._unproven[origin] += 1
        return PeerPlace(self, origin)

    def proven(self, origin: str) -> None:
        """Note that one more connection from there is that of a peer, or has ended."""
        with self._lock:
            self._unproven[origin] -= 1
            if not self._unproven[origin]:
                del self._unproven[origin]

    def left(self) -> None:
        """Note that one more place is free."""
        with self._lock:
            self._taken -= 1


class PeerPlace:
    """Place of one connection."""

    def __init__(self, places: Places, origin: str) -> None:
        """Take in that a place is taken."""
        self._places = places
        self._origin = origin
        self._is_proven = False

    def prove(self) -> None:
        """Note that the connection has brought a message."""
        if not self._is_proven:
            self._is_proven = True
            self._places.proven(self._origin)

    def leave(self) -> None:
        """Give the place back, once."""
        self.prove()
        self._places.left()


Message = Callable[[Any], tuple[bytes, Any]]
"""Returns a line for a connection, and the argument of the next message on the same connection; that of the first is
None. It is called on threads of the connections."""

Received = Callable[[bytes], "bytes | None"]
"""Takes a line, without its end, on a thread of its connection; returns a line as the answer, if there is one. Raises
ValueError for a line that ends the connection."""

Trouble = Callable[[str, str], None]
"""Takes the address of a peer and the reason, in one line, for which its connection has ended."""

LONGEST_LINE: Final = 64 << 20
"""Bytes: a message may hold several plans."""

PATIENCE: Final = 1.0
"""Seconds for connecting, and for the TLS handshake."""

_SEND_SECONDS: Final = 5.0
_IDLE: Final = 10.0
"""Seconds in which the next line must be complete: a controller sends ten a second."""

_PAUSE: Final = 0.1

_LONGEST_REASON: Final = 500
"""Characters."""

_STRANGERS: Final = "strangers"
"""Origin of all connections from addresses that are no peer's, together."""


class PeerLinks:
    """Sends and receives messages from `start` on; listens from construction on.

    Only the latest message waits for a peer that is slow or away. Without TLS only the hosts of `peers` are heard, and
    this one.
    """

    def __init__(
        self, listen: Address, peers: Sequence[Address], tls: TlsFiles | None, received: Received, trouble: Trouble
    ) -> None:
        """Listen; raises InputError if that is not possible, or if the TLS files are not usable."""
        self._received = received
        self._trouble = trouble
        self._server = None if tls is None else _followed(tls, _server_context)
        self._client = None if tls is None else client_settings(tls)
        self._settings = native_threading.Lock()
        self._changed = native_threading.Condition()
        self._latest: Message | None = None
        self._number = 0
        self._places = Places()
        family, address = address_of(*listen)
        # Peers know us by this address. One that stands for all is none.
        self._source = None if address[0] in ("0.0.0.0", "::") else str(address[0])  # noqa: S104  # a comparison
        # The addresses behind names are added when they have been reached.
        self._hosts = {"127.0.0.1", "::1", *(host for host, _ in peers), *([self._source] if self._source else [])}
        self._listening: socket.socket = unpatched("socket").socket(family)
        self._listening.setsockopt(unpatched("socket").SOL_SOCKET, unpatched("socket").SO_REUSEADDR, 1)
        try:
            self._listening.bind(address)
        except OSError as error:
            raise cannot_listen(*listen, error) from error
        self._listening.listen()
        self._peers = tuple(peers)

    def start(self) -> PeerLinks:
        """Send and receive from now on, in threads that end with the process; return this object."""
        _start(self._accept, "peers")
        for peer in self._peers:
            _start(lambda peer=peer: self._send_to(peer), f"peer {peer[0]}:{peer[1]}")  # type: ignore[misc]
        return self

    def send(self, message: Message) -> None:
        """Send a message to all peers instead of one that still waits."""
        with self._changed:
            self._latest = message
            self._number += 1
            self._changed.notify_all()

    def _send_to(self, peer: Address) -> None:
        while True:
            try:
                plain = connected(peer, PATIENCE, self._source)
                self._hosts.add(str(plain.getpeername()[0]))
                with LineConnection(plain) as connection:
                    if self._client is not None:
                        connection.secure(self._context(self._client), PATIENCE, server_side=False)
                    self._send_over(connection)
            except OSError:
                pass  # it is away, as its silence tells
            except Exception as error:  # noqa: BLE001  # the thread must not end
                self._trouble(peer[0], _reason(error))
            native_time.sleep(_PAUSE)

    def _send_over(self, connection: LineConnection) -> None:
        sent, memory = 0, None
        while True:
            with self._changed:
                while self._latest is None or self._number == sent:
                    self._changed.wait()
                message, sent = self._latest, self._number
            line, memory = message(memory)
            connection.send(line, _SEND_SECONDS)

    def _accept(self) -> None:
        while True:
            try:
                plain, address = self._listening.accept()
            except OSError:
                native_time.sleep(_PAUSE)
                continue
            host = str(address[0])
            try:
                self._admit(plain, host)
            except Exception as error:  # noqa: BLE001  # as above
                plain.close()
                self._trouble(host, _reason(error))
                native_time.sleep(_PAUSE)

    def _admit(self, plain: socket.socket, host: str) -> None:
        """Read a connection in a thread of its own, or end it."""
        is_known = host.removeprefix("::ffff:") in self._hosts
        if self._server is None and not is_known:
            self._trouble(host, "it is no peer's address")
            plain.close()
            return
        place = self._places.take(host if is_known else _STRANGERS)
        if place is None:
            self._trouble(host, "too many connections without a message")
            plain.close()
            return
        try:
            _start(lambda: self._read(plain, host, place), f"peer from {host}")
        except BaseException:
            place.leave()
            raise

    def _read(self, plain: socket.socket, host: str, place: PeerPlace) -> None:
        try:
            with LineConnection(plain) as connection:
                if self._server is not None:
                    connection.secure(self._context(self._server), PATIENCE, server_side=True)
                while (line := connection.receive(LONGEST_LINE, _IDLE)) is not None:
                    answer = self._received(line)
                    place.prove()
                    if answer is not None:
                        connection.send(answer, _SEND_SECONDS)
        except Exception as error:  # noqa: BLE001  # it would be told nowhere else
            self._trouble(host, _reason(error))
        finally:
            place.leave()

    def _context(self, settings: FollowedTls) -> ssl.SSLContext:
        # The lock of the settings themselves belongs to green threads under Ryu.
        with self._settings:
            return settings()


def client_settings(tls: TlsFiles) -> FollowedTls:
    """Return the settings of the side that connects; raises InputError if the files are not usable."""
    return _followed(tls, _client_context)


def _followed(tls: TlsFiles, context: Callable[[], ssl.SSLContext]) -> FollowedTls:
    def make(passphrase: Passphrase | None) -> ssl.SSLContext:
        return _loaded(context(), tls, passphrase)

    try:
        return FollowedTls([tls.key, tls.certificate, tls.ca], make)
    except OSError as error:
        raise InputError(
            tls.certificate, "", f"not usable for TLS: {error}", "a key and certificates in PEM"
        ) from error


def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def _client_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # a certificate of the authority is what makes a peer
    return context


def _loaded(context: ssl.SSLContext, tls: TlsFiles, passphrase: Passphrase | None) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(tls.certificate, tls.key, passphrase)
    context.load_verify_locations(tls.ca)
    return context


def _reason(error: Exception) -> str:
    """Return the reason why a connection has ended, with its class if it is none that is expected."""
    is_expected = isinstance(error, OSError | ValueError)
    return one_line(str(error) if is_expected else f"{type(error).__name__}: {error}", _LONGEST_REASON)


def _start(body: Callable[[], None], name: str) -> None:
    native_threading.Thread(target=body, name=name, daemon=True).start()
