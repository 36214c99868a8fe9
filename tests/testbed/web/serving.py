"""A server of the live lab for tests: its application, called without sockets, or the whole of it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.testclient import TestClient

from testbed.web.app import make_app
from testbed.web.files import PageFile
from testbed.web.server import PageLink, Serving, serve
from tests.testbed.web.memory_backend import MemoryBackend

TOKEN = "a-token-for-tests"  # noqa: S105  # no secret
AUTHORIZED = {"authorization": f"Bearer {TOKEN}"}
PAGE = {"/": PageFile.of(b"<!doctype html>", "text/html; charset=utf-8")}


@contextmanager
def served(backend: Any, **options: Any) -> Iterator[TestClient]:  # noqa: ANN401  # any backend, any option
    """Yield a client that has the token and calls the server by its address."""
    app: Any = make_app(backend, TOKEN, files=PAGE, **options)
    with TestClient(app, "http://127.0.0.1:8400", headers=AUTHORIZED, raise_server_exceptions=True) as client:
        yield client


def while_serving(serving: Serving, act: Callable[[PageLink], None]) -> None:
    """Run `act` on a thread while this one serves; the end of it ends the server."""
    failures: list[BaseException] = []

    def acting(link: PageLink) -> None:
        try:
            act(link)
        except BaseException as error:  # noqa: BLE001  # raised again below
            failures.append(error)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    def ready(link: PageLink) -> None:
        threading.Thread(target=acting, args=(link,)).start()

    serve(MemoryBackend(), serving, ready)
    for failure in failures:
        raise failure
