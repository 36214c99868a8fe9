"""A browser and servers of the live lab for tests of its page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from kuijia_base.quantities import parse_rate
from testbed.web.app import make_app

TOKEN = "a-token-for-browsers"  # noqa: S105  # no secret
PATIENCE = 10_000.0
"""Milliseconds after which a test stops waiting for something on the page."""


@contextmanager
def browsing(chromium: str, *arguments: str) -> Iterator[Browser]:
    """Yield a browser, without its sandbox, as tests may run as root."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", *arguments])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Server:
    """A server on a free port of this machine, and a client of it."""

    uvicorn: uvicorn.Server
    port: int
    client: httpx.Client

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/#token={TOKEN}"

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get("/api/state").json()
        return found

    def goodputs(self, scheme: str) -> dict[str, float]:
        (view,) = (each for each in self.state()["views"] if each["scheme"] == scheme)
        return {flow["id"]: flow["goodput"] for flow in view["flows"]}

    def is_up(self, link: str) -> bool:
        return all(each["up"] for view in self.state()["views"] for each in view["links"] if each["id"] == link)


@contextmanager
def serving(backend: Any, *, port: int = 0, view_only: bool = False) -> Iterator[Server]:  # noqa: ANN401  # any backend
    """Yield a server of the page and of this backend."""
    app: Any = make_app(backend, TOKEN, view_only=view_only)
    config = uvicorn.Config(app, "127.0.0.1", port, log_level="error", timeout_graceful_shutdown=1)
    server, ready = uvicorn.Server(config), threading.Event()
    startup = server.startup

    async def started(*args: Any, **options: Any) -> None:  # noqa: ANN401  # those of uvicorn
        await startup(*args, **options)
        ready.set()

    server.startup = started  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert ready.wait(10)
    bound = server.servers[0].sockets[0].getsockname()[1]
    headers = {"authorization": f"Bearer {TOKEN}"}
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{bound}", headers=headers) as client:
            yield Server(server, bound, client)
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()


@dataclass
class Visit:
    """The page in a browser of its own, and what the browser complained about."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def wait(self, condition: str, argument: Any = None) -> None:  # noqa: ANN401  # JSON
        """Wait for a condition, a function: the page's policy refuses an expression when it is asked a second time."""
        assert "=>" in condition
        self.page.wait_for_function(condition, arg=argument, timeout=PATIENCE)

    def goodputs(self, scheme: str) -> dict[str, float]:
        """Return the goodput that the table of flows shows, in Mbit/s."""
        rows = self.page.evaluate(
            "scheme => [...document.querySelectorAll('[data-flow]')].map(row => [row.dataset.flow,"
            " [...row.querySelectorAll('[data-view]')].find(cell => cell.dataset.view === scheme)"
            ".querySelector('.goodput').textContent])",
            scheme,
        )
        found = {name: parse_rate(text) for name, text in rows}
        return {name: rate for name, rate in found.items() if rate is not None}

    def row(self, kind: str, name: str) -> Any:  # noqa: ANN401  # a locator
        return self.page.locator(f"tr[data-{kind}={quoted(name)}]")

    def wait_for_state(self, kind: str, name: str, state: str) -> None:
        self.row(kind, name).locator("td.state", has_text=state).wait_for(timeout=PATIENCE)

    def click_on_drawing(self, element: str, scheme: str = "kuijia") -> None:
        """Click where the drawing shows an element of Cytoscape.js, at the middle of a line or on a node."""
        place = self.page.evaluate(
            "([scheme, id]) => {"
            " const box = [...document.querySelectorAll('.view')].find(each => each.dataset.view === scheme)"
            ".querySelector('.drawing');"
            " box.scrollIntoView();"
            # Cytoscape.js learns by this event that its place in the window is another one.
            " box.parentElement.dispatchEvent(new Event('scroll'));"
            " const element = box._cyreg.cy.getElementById(id);"
            " const at = element.isNode() ? element.renderedPosition() : element.renderedMidpoint();"
            " const corner = box.getBoundingClientRect();"
            " return [at.x + corner.x, at.y + corner.y]; }",
            [scheme, element],
        )
        self.page.mouse.click(*place)


@contextmanager
def visiting(browser: Browser, url: str, **options: Any) -> Iterator[Visit]:  # noqa: ANN401  # of Playwright
    """Open an address in a context of its own, and wait until the page shows the state there."""
    options = {"viewport": {"width": 1280, "height": 900}} | options
    context: BrowserContext = browser.new_context(**options)
    try:
        page = context.new_page()
        visit = Visit(page)
        page.on("console", lambda message: visit.complaints.append(message.text))
        page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        page.on("dialog", lambda dialog: visit.complaints.append(dialog.message))
        page.goto(url)
        if TOKEN in url:
            page.locator("#stream", has_text="live").wait_for(timeout=PATIENCE)
            page.locator("tr[data-link] td.state:not(:empty)").first.wait_for(timeout=PATIENCE)
        yield visit
    finally:
        context.close()


def quoted(text: str) -> str:
    """Return a text as a string of CSS."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
