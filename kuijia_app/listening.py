"""Whether a controller can listen where it is told to, found out before there is one."""

from __future__ import annotations

import socket
import ssl

from kuijia_app.tls import TlsFiles
from te_solver.errors import InputError


def require_free(host: str, port: int) -> None:
    """Raises InputError when nobody can listen there; port 0 stands for any that is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(f"{host}:{port}", "", f"cannot listen: {error.strerror}", "a free port") from error


def require_usable(tls: TlsFiles, passphrase: str | None = None) -> None:
    """Raises InputError when the files are no key and certificates.

    A key that is encrypted is tried with the passphrase; without one, OpenSSL asks for it at the terminal.
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
