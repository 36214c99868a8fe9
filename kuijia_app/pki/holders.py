"""Holders of certificates: the names and addresses that a certificate states; pure, without cryptography."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address
from typing import Final

from kuijia_app.framework.certificate_names import CONTROLLER, WEB_SERVER, datapath_name
from kuijia_base.errors import UnsoundError, quoted

AUTHORITY_FILE: Final = "ca"
"""Name of the authority's files, which no holder may have."""

NAME_EXPECTED: Final = "1 to 64 of the letters a-z A-Z, digits and . _ -, a letter or digit first, and not `ca`"
ADDRESS_EXPECTED: Final = "an IP address or the name of a host, in ASCII"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_LONGEST_HOST: Final = 253


class CertificateKind(str, Enum):
    """Purposes of certificates; `OTHER` was not made by us."""

    AUTHORITY = "authority"
    CONTROLLER = "controller"
    SWITCH = "switch"
    WEB = "web"
    OTHER = "other"


@dataclass(frozen=True)
class Holder:
    """Subject of a certificate.

    Attributes:
        name: its common name; for all but the authority also the name of its files.
        kind: what the certificate is for.
        addresses: IP addresses and names of hosts.
        datapath_ids: the ids that a switch may use.
    """

    name: str
    kind: CertificateKind
    addresses: tuple[str, ...] = ()
    datapath_ids: tuple[int, ...] = ()

    @property
    def uris(self) -> tuple[str, ...]:
        """The URIs that limit the certificate to its purpose."""
        of_kind = {CertificateKind.CONTROLLER: (CONTROLLER,), CertificateKind.WEB: (WEB_SERVER,)}
        return of_kind.get(self.kind, ()) + tuple(map(datapath_name, self.datapath_ids))


def require_name(text: str) -> str:
    """Return the name of a holder; raises UnsoundError if it cannot be one."""
    # On some file systems CA.pem is ca.pem.
    if _NAME.fullmatch(text) is None or text.lower() == AUTHORITY_FILE:
        raise UnsoundError((), quoted(text), NAME_EXPECTED)
    return text


def require_address(text: str) -> str:
    """Return an IP address or the name of a host in its usual form; raises UnsoundError if it is neither."""
    try:
        return str(ip_address("" if "%" in text else text))  # zones mean nothing to others
    except ValueError:
        host = text.lower()
    labels = host.split(".")
    is_host = len(host) <= _LONGEST_HOST and all(map(_LABEL.fullmatch, labels)) and not labels[-1].isdecimal()
    if not is_host:
        raise UnsoundError((), quoted(text), ADDRESS_EXPECTED)
    return host
