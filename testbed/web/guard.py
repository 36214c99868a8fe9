"""The outermost layer of the server: applies the rules of `access` to every request before anything else sees it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

from testbed.web.access import HEADERS, HostRules, Kind, Limiter, Refused, Token

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
