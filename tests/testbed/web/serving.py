"""A server of the live lab for tests: its application, called without sockets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.testclient import TestClient

from testbed.web.app import make_app
from testbed.web.files import PageFile

TOKEN = "a-token-for-tests"  # noqa: S105  # no secret
AUTHORIZED = {"authorization": f"Bearer {TOKEN}"}
PAGE = {"/": PageFile.of(b"<!doctype html>", "text/html; charset=utf-8")}


@contextmanager
def served(backend: Any, **options: Any) -> Iterator[TestClient]:  # noqa: ANN401  # any backend, any option
    """Yield a client that has the token and calls the server by its address."""
    app: Any = make_app(backend, TOKEN, files=PAGE, **options)
    with TestClient(app, "http://127.0.0.1:8400", headers=AUTHORIZED, raise_server_exceptions=True) as client:
        yield client
