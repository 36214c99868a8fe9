"""Takes the pictures of the page that the documentation shows.

`python -m tests.testbed.web.pictures` takes those of the model; with the argument `switches` that of the emulated lab,
which needs root and Open vSwitch.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, ViewportSize

import kuijia
from simulator.live.flow_model import LiveFlowModel
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from testbed.web.backend import SetClock
from testbed.web.model_backend import ModelBackend
from testbed.web.real_lab import RealLab
from tests.testbed.web.browsing import Visit, browsing, serving, visiting
from tests.testbed.web.test_page_lab import lab_of_figure_1, one_flow_on_each_tunnel

IMAGES = Path(__file__).parents[3] / "docs" / "images"
SPEED = 2
BEFORE, AFTER = 10.0, 25.0
"""Seconds of the model's clock before the cut, and at the picture."""

NETWORK, LINK, FLOW = "gscale", "1~4", "f22"
WIDE: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 800}
LARGE: ViewportSize = {"width": 1400, "height": 900}
BEFORE_CUT, AFTER_CUT = 8000.0, 9000.0
"""Milliseconds of the lab's flows before its cut, and from there to the picture."""

Colours = Literal["light", "dark"]

_BOX = "(top, bottom) => ({ x: 0, y: top + scrollY, width: innerWidth, height: bottom - top })"
_RECTANGLE = "document.querySelector('%s').getBoundingClientRect()"
PARTS = {
    "whole": f"({_BOX})(0, {_RECTANGLE % '.panels'}.bottom + 12)",
    "below": f"({_BOX})({_RECTANGLE % '.pair'}.top - 12, {_RECTANGLE % '.below'}.bottom + 12)",
    "to the log": f"({_BOX})(0, {_RECTANGLE % '#log'}.bottom + 8)",
    "window": f"({_BOX})(0, innerHeight)",
}
"""JavaScript for the rectangle of each part of the page."""


def main() -> int:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.stderr.write("error: Chromium is not installed (Debian package chromium)\n")
        return 1
    with browsing(chromium) as browser:
        if sys.argv[1:] == ["switches"]:
            take_switches(browser, "live-lab-switches.png")
            return 0
        take(browser, "live-lab.png", WIDE, "light", "whole")
        take(browser, "live-lab-tables.png", WIDE, "dark", "below")
        take(browser, "live-lab-phone.png", PHONE, "light", "window")
    return 0


def take(browser: Browser, name: str, size: ViewportSize, colours: Colours, part: str) -> None:
    """Cut a link in the model of Gscale and take a picture some seconds later."""
    backend = ModelBackend(LiveFlowModel(kuijia.solve(NETWORK, NETWORK)), _unsolved)
    with serving(backend) as server, visiting(browser, server.url, viewport=size, color_scheme=colours) as visit:
        backend.act(SetClock(speed=SPEED))
        until = "second => parseFloat(document.querySelector('.time').textContent) >= second"
        visit.wait(until, BEFORE)
        visit.row("link", LINK).get_by_role("button").click()
        if part == "below":
            visit.row("flow", FLOW).locator("button.plain").click()
        visit.wait(until, AFTER)
        save(visit, name, part)


def take_switches(browser: Browser, name: str) -> None:
    """Cut a link of Open vSwitch that one of three flows crosses, and take a picture some seconds later."""
    with (
        lab_of_figure_1() as lab,
        serving(RealLab(lab)) as server,
        visiting(browser, server.url, viewport=LARGE, color_scheme="light") as visit,
    ):
        one_flow_on_each_tunnel(lab, visit)
        visit.page.wait_for_timeout(BEFORE_CUT)
        visit.click_on_drawing("s2~s4 from s2")
        visit.page.locator("dialog[open]").get_by_role("button", name="Cut s2-s4").click()
        visit.wait_for_state("link", "s2~s4", "down")
        visit.page.wait_for_timeout(AFTER_CUT)
        save(visit, name, "to the log")


def save(visit: Visit, name: str, part: str) -> None:
    # A click scrolls to its place, which would cut off the head of the page.
    visit.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    clip = visit.page.evaluate(PARTS[part])
    visit.page.screenshot(path=IMAGES / name, clip=clip, full_page=True)
    sys.stdout.write(f"{IMAGES / name}\n")


def _unsolved(_topology: Topology, _demands: Sequence[Demand]) -> Plan:
    raise AssertionError("pictures do not change demands")


if __name__ == "__main__":
    sys.exit(main())
