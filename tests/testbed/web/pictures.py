"""Takes the pictures of the page that the documentation shows: `python -m tests.testbed.web.pictures`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, ViewportSize

import kuijia
from te_solver.demands import Demand
from te_solver.plan import Plan
from te_solver.topology import Topology
from testbed.web.backend import SetClock
from testbed.web.flow_backend import FlowBackend
from tests.testbed.web.browsing import browsing, serving, visiting

IMAGES = Path(__file__).parents[3] / "docs" / "images"
SPEED = 2
BEFORE, AFTER = 10.0, 25.0
"""Seconds of the model's clock before the cut, and at the picture."""

NETWORK, LINK, FLOW = "gscale", "1~4", "f22"
WIDE: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 800}
Colours = Literal["light", "dark"]

_BOX = "(top, bottom) => ({ x: 0, y: top + scrollY, width: innerWidth, height: bottom - top })"
_RECTANGLE = "document.querySelector('%s').getBoundingClientRect()"
PARTS = {
    "whole": f"({_BOX})(0, {_RECTANGLE % '.panels'}.bottom + 12)",
    "below": f"({_BOX})({_RECTANGLE % '.pair'}.top - 12, {_RECTANGLE % '.below'}.bottom + 12)",
    "window": f"({_BOX})(0, innerHeight)",
}
"""JavaScript for the rectangle of each part of the page."""


def main() -> int:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.stderr.write("error: Chromium is not installed (Debian package chromium)\n")
        return 1
    with browsing(chromium) as browser:
        take(browser, "live-lab.png", WIDE, "light", "whole")
        take(browser, "live-lab-tables.png", WIDE, "dark", "below")
        take(browser, "live-lab-phone.png", PHONE, "light", "window")
    return 0


def take(browser: Browser, name: str, size: ViewportSize, colours: Colours, part: str) -> None:
    """Cut a link in the model of Gscale and take a picture some seconds later."""
    backend = FlowBackend(kuijia.solve(NETWORK, NETWORK), _unsolved)
    with serving(backend) as server, visiting(browser, server.url, viewport=size, color_scheme=colours) as visit:
        backend.act(SetClock(speed=SPEED))
        until = "second => parseFloat(document.querySelector('.time').textContent) >= second"
        visit.wait(until, BEFORE)
        visit.row("link", LINK).get_by_role("button").click()
        if part == "below":
            visit.row("flow", FLOW).locator("button.plain").click()
        visit.wait(until, AFTER)
        visit.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        clip = visit.page.evaluate(PARTS[part])
        visit.page.screenshot(path=IMAGES / name, clip=clip, full_page=True)
        sys.stdout.write(f"{IMAGES / name}\n")


def _unsolved(_topology: Topology, _demands: Sequence[Demand]) -> Plan:
    raise AssertionError("pictures do not change demands")


if __name__ == "__main__":
    sys.exit(main())
