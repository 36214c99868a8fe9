"""Access rules: hosts and origins, the token, rates of requests, headers of answers; pure.

A page from elsewhere can make a browser send requests to this machine, also by a name of its own that it lets point
here (DNS rebinding). Such requests carry a foreign `Host` or `Origin`, and have no token.
"""

from __future__ import annotations

import hmac
import ipaddress
import math
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
        "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Headers of every answer: nothing from elsewhere, nothing inline, no frame around it, no address passed on."""

_MOST_CLIENTS = 1000


@dataclass(frozen=True)
class Refused:
    """A refused request: status and reason."""

    status: int
    error: str


@dataclass(frozen=True)
class HostRules:
    """Names by which browsers may call the server.

    Attributes:
        bound: the address that it listens on.
        names: further names, as of a reverse proxy.
    """

    bound: str = "127.0.0.1"
    names: Collection[str] = ()

    def check_host(self, host: str | None) -> Refused | None:
        """Return why a request with this `Host` is refused, None if it is not."""
        if host is None:
            return Refused(400, "there is no Host header")
        name = host_name(host)
        if name is not None and self._is_ours(name):
            return None
        return Refused(421, "this server does not answer to that Host: open the printed link")

    def check_origin(self, origin: str | None, host: str | None, site: str | None) -> Refused | None:
        """Return why a request with these headers is refused: it comes from a page of another origin."""
        foreign = Refused(403, "requests from pages of another origin are refused")
        if site not in {None, "same-origin", "none"}:
            return foreign
        if origin is None:
            return None
        scheme, _, rest = origin.partition("://")
        is_same = scheme in {"http", "https"} and rest.lower() == (host or "").lower()
        return None if is_same else foreign

    def _is_ours(self, name: str) -> bool:
        if name in {each.lower() for each in self.names}:
            return True
        bound = ipaddress.ip_address(self.bound)
        if bound.is_loopback:
            return name in LOOPBACK_NAMES or name == self.bound
        # Names can be made to point anywhere, addresses cannot.
        return name in LOOPBACK_NAMES or (is_address(name) if bound.is_unspecified else name == self.bound)


def host_name(host: str) -> str | None:
    """Return the name or address in a `Host` header, in lower case, without port and brackets; None if malformed."""
    if host.startswith("["):
        name, closed, port = host[1:].partition("]")
        if not closed or not is_address(name) or (port and not _is_port(port)):
            return None
        return name.lower()
    name, colon, port = host.partition(":")
    if not name or (colon and not _is_port(colon + port)):
        return None
    return name.lower()


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_port(text: str) -> bool:
    return text.startswith(":") and text[1:].isascii() and text[1:].isdigit() and int(text[1:6] or 0) <= 0xFFFF


class Token:
    """The secret of the printed link."""

    def __init__(self, secret: str) -> None:
        self._digest = sha256(secret.encode()).digest()

    def is_in(self, authorization: str | None) -> bool:
        """Return True if a header `Authorization` has the token; takes the same time wherever they differ."""
        kind, _, given = (authorization or "").partition(" ")
        digest = sha256(given.strip().encode("utf-8", "surrogateescape")).digest()
        return hmac.compare_digest(digest, self._digest) and kind.lower() == "bearer"


Kind = Literal["page", "read", "act", "guess"]


@dataclass(frozen=True)
class Rate:
    """Requests a second, and requests at once."""

    per_second: float
    burst: float


RATES: Mapping[Kind, Rate] = {
    "page": Rate(500, 3000),
    "read": Rate(100, 500),
    "act": Rate(10, 30),
    "guess": Rate(5, 20),
}
"""Rates for each client's address: files of the page, reads, actions, and requests with a wrong token."""


@dataclass
class Limiter:
    """Token buckets of clients; if there are too many, the client idle for longest is forgotten."""

    rates: Mapping[Kind, Rate] = field(default_factory=lambda: RATES)
    _left: OrderedDict[tuple[Kind, str], tuple[float, float]] = field(default_factory=OrderedDict)

    def wait(self, kind: Kind, client: str, now: float) -> int | None:
        """Count a request; return None if it may pass, else the whole seconds until the next attempt."""
        rate = self.rates[kind]
        left, last = self._left.pop((kind, client), (rate.burst, now))
        left = min(rate.burst, left + (now - last) * rate.per_second)
        passes = left >= 1
        self._left[kind, client] = (left - 1 if passes else left), now
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        return None if passes else max(1, math.ceil((1 - left) / rate.per_second))
