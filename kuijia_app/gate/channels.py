"""Channels for messages over a connection, plain or with TLS in memory; bytes in, bytes out."""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Sequence
from typing import Protocol

from kuijia_app.framework.certificate_names import uris_shown
from kuijia_app.gate.errors import RefusedError
from kuijia_base.followed_tls import Passphrase

_PIECE = 64 * 1024


class Channel(Protocol):
    """One side of a connection; only one thread at a time may call it."""

    @property
    def is_open(self) -> bool:
        """True once messages may be sent."""
        ...

    @property
    def fingerprint(self) -> str | None:
        """SHA-256 of the certificate that the other side has shown, in lower-case hexadecimal digits."""
        ...

    @property
    def uris(self) -> Sequence[str]:
        """URIs in this certificate."""
        ...

    def received(self, data: bytes) -> bytes:
        """Return the messages in bytes from the wire; raise RefusedError if they cannot be decrypted."""
        ...

    def sent(self, data: bytes) -> bytes:
        """Return the bytes for the wire: those of these messages and of the channel itself.

        Raises RefusedError if the other side has left the channel in a state in which nothing can be sent.
        """
        ...


class PlainChannel:
    """No TLS."""

    is_open = True
    fingerprint = None
    uris: Sequence[str] = ()

    def received(self, data: bytes) -> bytes:
        return data

    def sent(self, data: bytes) -> bytes:
        return data


class TlsChannel:
    """The server's side of TLS."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.is_open = False
        self._is_over = False

    @property
    def fingerprint(self) -> str | None:
        certificate = self._tls.getpeercert(binary_form=True) if self.is_open else None
        return None if certificate is None else hashlib.sha256(certificate).hexdigest()

    @property
    def uris(self) -> Sequence[str]:
        return uris_shown(self._tls.getpeercert()) if self.is_open else ()

    def received(self, data: bytes) -> bytes:
        if self._is_over:
            raise RefusedError("it sends more after the end of TLS")  # such bytes would stay in memory for ever
        self._incoming.write(data)
        messages = bytearray()
        try:
            if not self.is_open:
                self._tls.do_handshake()
                self.is_open = True
            while piece := self._tls.read(_PIECE):
                messages += piece
            self._is_over = True  # the end of the connection itself follows
        except ssl.SSLWantReadError:
            pass  # no more for now
        except ssl.SSLZeroReturnError:
            self._is_over = True
        except ssl.SSLError as error:
            raise _failed(error) from error
        return bytes(messages)

    def sent(self, data: bytes) -> bytes:
        try:
            if data:
                self._tls.write(data)
        except ssl.SSLError as error:
            raise _failed(error) from error
        return self._outgoing.read()


def _failed(error: ssl.SSLError) -> RefusedError:
    return RefusedError("TLS failed", (error.reason or "no reason").lower().replace("_", " "))


def server_context(
    key: str,
    certificate: str,
    authority: str | None,
    ciphers: str | None = None,
    passphrase: Passphrase | None = None,
) -> ssl.SSLContext:
    """Return the settings for switches that connect by TLS; they must show a certificate of `authority` unless None.

    Raises:
        OSError: a file is not usable.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.load_cert_chain(certificate, key, passphrase)
    if authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority)
    if ciphers is not None:
        context.set_ciphers(ciphers)
    return context
