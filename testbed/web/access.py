"""Access rules: hosts and origins, the token, rates of requests, headers of answers; pure.

A page from elsewhere can make a browser send requests to this machine, also by a name of its own that it lets point
here (DNS rebinding). Such requests carry a foreign `Host` or `Origin`, and have no token.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

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


Scope = MutableMapping[str, Any]
Receive = Callable[[], Any]
Send = Callable[[MutableMapping[str, Any]], Any]
App = Callable[[Scope, Receive, Send], Any]

_SECURED = "/api/"
_SAFE = frozenset({"GET", "HEAD"})
_LONGEST_HEADERS = 100
_ABSOLUTE = re.compile("https?://(?P<host>[^/]*)(?P<path>/.*)?", re.IGNORECASE | re.DOTALL)


class Guard:
    """Lets a request pass, or answers it with the reason for its refusal; adds the headers of every answer.

    Args:
        app: what answers requests that pass.
        hosts: names by which the server may be called.
        token: that of the printed link, which everything below /api/ asks for.
        limiter: limits of rates.
        clock: seconds, for the limiter.
    """

    def __init__(
        self,
        app: App,
        hosts: HostRules,
        token: Token,
        limiter: Limiter | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._hosts, self._token = app, hosts, token
        self._limiter, self._clock = limiter or Limiter(), clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # a WebSocket is closed unanswered

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_ENCODED]
            await send(message)

        scope = _in_origin_form(scope)
        refused, wait = self._refusal(scope)
        if refused is None:
            await self._app(scope, receive, send_with_headers)
            return
        body = json.dumps({"error": refused.error}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += [(b"cache-control", b"no-store"), (b"connection", b"close")]
        if wait is not None:
            headers.append((b"retry-after", str(wait).encode()))
        if refused.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await send_with_headers({"type": "http.response.start", "status": refused.status, "headers": headers})
        shown = b"" if scope["method"] == "HEAD" else body
        await send_with_headers({"type": "http.response.body", "body": shown})

    def _refusal(self, scope: Scope) -> tuple[Refused | None, int | None]:
        """Return why a request is refused, and the seconds after which to ask again."""
        headers = scope["headers"]
        if len(headers) > _LONGEST_HEADERS:
            return Refused(431, f"more than {_LONGEST_HEADERS} headers"), None
        if len(_all(headers, b"host")) > 1 or len(_all(headers, b"origin")) > 1:
            return Refused(400, "a header is given twice"), None
        host, origin = _first(headers, b"host"), _first(headers, b"origin")
        secured = scope["path"].startswith(_SECURED)
        # Links elsewhere may lead to the page, but nothing elsewhere may use what is behind it.
        site = _first(headers, b"sec-fetch-site") if secured else None
        refused = self._hosts.check_host(host) or self._hosts.check_origin(origin, host, site)
        if refused is not None:
            return refused, None
        client = (scope.get("client") or ("", 0))[0]
        kind: Kind = "page" if not secured else "read" if scope["method"] in _SAFE else "act"
        refused = None
        if secured and not self._token.is_in(_first(headers, b"authorization")):
            kind, refused = "guess", Refused(401, "the token is missing or wrong: open the printed link")
        wait = self._limiter.wait(kind, client, self._clock())
        if wait is not None:
            return Refused(429, f"too many requests: try again in {wait} s"), wait
        return refused, None


def _in_origin_form(scope: Scope) -> Scope:
    """Return a request as if its target were a path: one in absolute form names its host, too (RFC 9112, 3.2.2)."""
    found = _ABSOLUTE.fullmatch(scope["path"])
    if found is None:
        return scope
    headers = [(name, value) for name, value in scope["headers"] if name.lower() != b"host"]
    path = found["path"] or "/"
    host = found["host"].encode("latin-1", "replace")
    return {**scope, "path": path, "raw_path": path.encode(), "headers": [*headers, (b"host", host)]}


_ENCODED = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def _all(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]


def _first(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    return next((value.decode("latin-1") for value in _all(headers, name)), None)
