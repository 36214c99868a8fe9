"""A browser that visits a hostile page does the live lab no harm, even if that page has the token."""

from __future__ import annotations

import http.server
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

for module in ("httpx", "playwright", "starlette", "uvicorn"):
    pytest.importorskip(module, reason=f"no {module}, which ./run test installs")

from playwright.sync_api import Browser, Page  # noqa: E402  # may be missing

from tests.testbed.web.browsing import TOKEN, Server, browsing, serving  # noqa: E402  # needs all
from tests.testbed.web.memory_backend import MemoryBackend  # noqa: E402  # needs starlette

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian package chromium)")

REBOUND = "evil.example"
CUT = {
    "method": "PATCH",
    "headers": {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"},
    "body": '{"up": false}',
}
BLIND = {"method": "POST", "mode": "no-cors", "body": '{"source": "s1", "target": "s2", "rate": 1}'}
"""A request that browsers send to other origins without asking first."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None
    with browsing(CHROMIUM, f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1") as opened:
        yield opened


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend()


@pytest.fixture
def server(backend: MemoryBackend) -> Iterator[Server]:
    with serving(backend) as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    try:
        yield context.new_page()
    finally:
        context.close()


@contextmanager
def page_elsewhere() -> Iterator[str]:
    """Serve an empty page on another port of this machine; yield its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title>")

        def log_message(self, *_: object) -> None:
            """Write nothing about requests."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as elsewhere:
        thread = threading.Thread(target=elsewhere.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{elsewhere.server_address[1]}/"
        finally:
            elsewhere.shutdown()
            thread.join()


def fetched(page: Page, address: str, options: Mapping[str, object]) -> int | str:
    """Return the status that a page sees, or the name of the error that the browser gives it instead."""
    found: int | str = page.evaluate(
        "([address, options]) => fetch(address, options).then(answer => answer.status, error => error.name)",
        [address, options],
    )
    return found


def test_the_server_s_own_page_may_cut_a_link(page: Page, server: Server, backend: MemoryBackend) -> None:
    page.goto(f"http://127.0.0.1:{server.port}/openapi.json")
    assert fetched(page, "/api/links/s1~s3", CUT) == 200
    assert [entry.kind for entry in backend.events(0)] == ["cut"]


def test_a_name_that_was_made_to_point_here_is_refused(page: Page, server: Server, backend: MemoryBackend) -> None:
    answer = page.goto(f"http://{REBOUND}:{server.port}/")
    assert answer is not None
    assert answer.status == 421
    assert fetched(page, "/api/links/s1~s3", CUT) == 421
    assert fetched(page, "/api/state", {"headers": CUT["headers"]}) == 421
    assert backend.events(0) == []
    assert server.is_up("s1~s3")


def test_a_page_of_another_origin_neither_acts_nor_reads(page: Page, server: Server, backend: MemoryBackend) -> None:
    api = f"http://127.0.0.1:{server.port}/api"
    with page_elsewhere() as address:
        page.goto(address)
        assert fetched(page, f"{api}/links/s1~s3", CUT) == "TypeError"
        assert fetched(page, f"{api}/state", {"headers": CUT["headers"]}) == "TypeError"
        assert fetched(page, f"{api}/state", {}) == "TypeError"
        fetched(page, f"{api}/flows", BLIND)
    assert backend.events(0) == []
    assert server.is_up("s1~s3")
