"""Key and certificate by which the web server identifies itself under HTTPS."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from kuijia_app.framework.followed_tls import FollowedTls, Passphrase
from kuijia_base.errors import InputError


@dataclass(frozen=True)
class TlsPair:
    """Files in PEM: the server's private key and its certificate."""

    key: Path
    certificate: Path


def follow(pair: TlsPair) -> FollowedTls:
    """Return the settings for new connections; raises InputError if the files are not usable."""

    def make(passphrase: Passphrase | None) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key, passphrase)
        return context

    try:
        return FollowedTls([pair.key, pair.certificate], make)
    except OSError as error:  # SSLError is one
        problem = f"not usable with the key {pair.key}: {error}"
        raise InputError(pair.certificate, "", problem, "a pair in PEM, as `kuijia pki web` makes it") from error
