"""Checks the address and the TLS files of a controller before it starts."""

from __future__ import annotations

import socket
import ssl
from ipaddress import ip_address
from typing import Any

from kuijia_app.framework.tls import TlsFiles
from kuijia_base.errors import InputError, quoted

_EXPECTED = "an address of this machine, 0.0.0.0 or :: for all of them"


def address_of(host: str, port: int) -> tuple[int, tuple[Any, ...]]:
    """Return the family and the address of a socket that listens there.

    Raises:
        InputError: `host` is empty or no address, or means all addresses without saying so.
    """
    if not host:
        raise InputError("host", "", "is empty", _EXPECTED)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not the name of a host"
        raise InputError("host", "", f"{quoted(host)} cannot be found ({reason})", _EXPECTED) from error
    family, _, _, _, address = found[0]
    if ip_address(str(address[0]).partition("%")[0]).is_unspecified and not _is_address(host):
        raise InputError("host", "", f"{quoted(host)} means all addresses", _EXPECTED)
    return family, address


def cannot_listen(host: str, port: int, error: OSError) -> InputError:
    """Return the error that says why listening there is not possible."""
    shown = host if len(host) <= _LONGEST_HOST else quoted(host)
    return InputError(f"{shown}:{port}", "", f"cannot listen: {error.strerror}", "a free port")


def require_free(host: str, port: int) -> None:
    """Raise InputError if listening there is not possible; port 0 stands for any free one."""
    family, address = address_of(host, port)
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            raise cannot_listen(host, port, error) from error


def require_usable(tls: TlsFiles, passphrase: str | None = None) -> None:
    """Raise InputError if the files are not a key and certificates.

    An encrypted key is tried with the passphrase; without one, OpenSSL asks for it at the terminal.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.certificate, tls.key, password=passphrase)
    except OSError as error:  # SSLError is one
        raise InputError(tls.certificate, "", f"not usable with the key {tls.key}: {error}", "a pair in PEM") from error
    try:
        context.load_verify_locations(tls.ca)
    except OSError as error:
        raise InputError(tls.ca, "", f"not usable: {error}", "certificates in PEM") from error


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


_LONGEST_HOST = 60
"""Characters of a name shown in messages."""
