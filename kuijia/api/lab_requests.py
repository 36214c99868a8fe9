"""Requests to a live lab's server over HTTP, with the standard library alone."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import parse_qs, urlsplit

from kuijia_base.errors import InputError, KuijiaError, one_line, quoted
from kuijia_base.options import bad_option

LONGEST_ANSWER = 1 << 28
"""Bytes of an answer, and of an event."""

SILENCE = 30.0
"""Seconds without a byte after which a stream of events counts as dead: states come several times a second."""

_BAD_INPUT = frozenset({400, 404, 413, 415, 422})
_LONGEST_ERROR = 1000


class LabError(KuijiaError):
    """The server of a lab does not answer, or refuses a request.

    Attributes:
        status: of HTTP; None without an answer.
        findings: broken promises, if it has refused a plan for them.
        exit_status: 2 if the request is at fault, else 1.
    """

    def __init__(self, message: str, status: int | None = None, findings: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.findings = findings
        self.exit_status = InputError.exit_status if status in _BAD_INPUT else KuijiaError.exit_status


@dataclass(frozen=True)
class Server:
    """A server of a live lab, and how to reach it.

    Attributes:
        host, port: where it listens.
        token: its secret.
        seconds: time limit for an answer.
        tls: how it proves who it is; None without TLS.
    """

    host: str
    port: int
    token: str
    seconds: float
    tls: ssl.SSLContext | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.tls is None else 'https'}://{host}:{self.port}"

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401  # JSON
        """Return the JSON of an answer; raises LabError."""
        with self._answer(method, path, body, self.seconds) as answer:
            data = self._read(answer, LONGEST_ANSWER + 1)
        return self._data(data)

    def follow(self, path: str) -> Iterator[tuple[str, Any]]:
        """Yield the kind and the JSON of each event of a stream; raises LabError when it ends."""
        with self._answer("GET", path, None, SILENCE) as answer:
            kind = ""
            while line := self._read_line(answer):
                name, _, value = line.rstrip(b"\r\n").partition(b": ")
                if name == b"event":
                    kind = value.decode(errors="replace")
                elif name == b"data":
                    yield kind, self._data(value)
        raise LabError(f"{self} has ended the stream of events")

    @contextmanager
    def _answer(self, method: str, path: str, body: object, seconds: float) -> Iterator[http.client.HTTPResponse]:
        with closing(self._connection(seconds)) as connection:
            headers = {"authorization": f"Bearer {self.token}", "accept": "application/json, text/event-stream"}
            data = None if body is None else json.dumps(body).encode()
            if data is not None:
                headers["content-type"] = "application/json"
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                raise self._silent(error) from error
            if answer.status != http.HTTPStatus.OK:
                self._refuse(answer)
            yield answer

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        if self.tls is None:
            return http.client.HTTPConnection(self.host, self.port, timeout=seconds)
        return http.client.HTTPSConnection(self.host, self.port, timeout=seconds, context=self.tls)

    def _refuse(self, answer: http.client.HTTPResponse) -> NoReturn:
        said = self._read(answer, LONGEST_ANSWER)
        try:
            refusal = json.loads(said)
            reason, found = str(refusal["error"]), refusal.get("findings", ())
            findings = tuple(str(each["text"]) for each in found)
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
            reason, findings = f"status {answer.status} without a reason", ()
        raise LabError(f"{self}: {one_line(reason, _LONGEST_ERROR)}", answer.status, findings)

    def _read(self, answer: http.client.HTTPResponse, most: int) -> bytes:
        try:
            return answer.read(most)
        except (OSError, http.client.HTTPException) as error:
            raise self._silent(error) from error

    def _read_line(self, answer: http.client.HTTPResponse) -> bytes:
        try:
            return answer.readline(LONGEST_ANSWER + 1)
        except (OSError, http.client.HTTPException) as error:
            raise self._silent(error) from error

    def _data(self, text: bytes) -> Any:  # noqa: ANN401  # JSON
        try:
            return json.loads(text) if len(text) <= LONGEST_ANSWER else self._no_lab()
        except (RecursionError, ValueError):
            self._no_lab()

    def _no_lab(self) -> NoReturn:
        raise LabError(f"{self}: the answer is not that of a lab")

    def _silent(self, error: Exception) -> LabError:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
        return LabError(f"{self} does not answer: {one_line(reason, _LONGEST_ERROR)}")


def server_at(address: str, token: str | None, seconds: float, ca: str | Path | None) -> Server:
    """Return the server at an address, which may be the printed link with its token.

    Raises:
        InputError: the address is none, there is no token, or the file of authorities cannot be used.
    """
    parts = urlsplit(address)
    token = token or next(iter(parse_qs(parts.fragment).get("token", ())), None)
    try:
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        host = parts.hostname or ""
    except (KeyError, ValueError):
        host, port = "", 0
    if not host or parts.path.strip("/") or parts.query or parts.username is not None:
        raise bad_option("address", quoted(address), "the link that `kuijia lab web` prints, or its http://HOST:PORT")
    if not token or not (token.isascii() and token.isprintable()):
        raise bad_option("token", "there is none", "the part of the printed link after #token=")
    tls = None
    if parts.scheme == "https":
        try:
            tls = ssl.create_default_context(cafile=None if ca is None else str(ca))
        except OSError as error:
            raise InputError(str(ca), "", f"not usable: {error.strerror or error}", "certificates in PEM") from error
    return Server(host, port, token, seconds, tls)
