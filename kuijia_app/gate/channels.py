"""Channels for messages over a connection, plain or with TLS in memory; bytes in, bytes out."""

from __future__ import annotations

import hashlib
import ssl
import struct
from collections.abc import Sequence
from typing import Protocol

from kuijia_app.framework.certificate_names import uris_shown
from kuijia_app.framework.followed_tls import Passphrase
from kuijia_app.gate.frames import RefusedError

_PIECE = 64 * 1024
_HANDSHAKE = 22
"""Type of the first record (RFC 8446, 5.1)."""

_RECORD = struct.Struct("!BHH")
"""Type, version and length of a record (RFC 8446, 5.1)."""

_LONGEST_RECORD = 1 << 14


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
        self._context = context
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._first = bytearray()
        self._session: ssl.SSLObject | None = None
        self.is_open = False
        self._is_over = False

    @property
    def fingerprint(self) -> str | None:
        certificate = self._tls().getpeercert(binary_form=True) if self.is_open else None
        return None if certificate is None else hashlib.sha256(certificate).hexdigest()

    @property
    def uris(self) -> Sequence[str]:
        return uris_shown(self._tls().getpeercert()) if self.is_open else ()

    def received(self, data: bytes) -> bytes:
        if self._is_over:
            raise RefusedError("it sends more after the end of TLS")  # such bytes would stay in memory for ever
        if self._session is None:
            self._first += data
            if not _is_first_record(self._first):
                return b""
            data = bytes(self._first)
            self._first.clear()
        self._incoming.write(data)
        tls = self._tls()
        messages = bytearray()
        try:
            if not self.is_open:
                tls.do_handshake()
                self.is_open = True
            while piece := tls.read(_PIECE):
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
                self._tls().write(data)
        except ssl.SSLError as error:
            raise _failed(error) from error
        return self._outgoing.read()

    def _tls(self) -> ssl.SSLObject:
        """Return the session, made when the first record is there: who sends less takes little memory and time."""
        if self._session is None:
            self._session = self._context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        return self._session


def _is_first_record(data: bytearray) -> bool:
    """Return True once the first record is complete; raise RefusedError if it is not one of a handshake."""
    if data and data[0] != _HANDSHAKE:
        raise RefusedError("TLS failed", "it does not begin with a handshake")
    if len(data) < _RECORD.size:
        return False
    _, _, length = _RECORD.unpack_from(data)
    if length > _LONGEST_RECORD:
        raise RefusedError("TLS failed", "its first record is too long")
    return len(data) >= _RECORD.size + int(length)


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
