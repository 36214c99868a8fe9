"""The page over a real lab: a click cuts a link between switches, and its numbers are those of iperf3's servers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

for module in ("httpx", "playwright", "starlette", "uvicorn"):
    pytest.importorskip(module, reason=f"no {module}, which ./run test installs")

from testbed.lab.lab_client import ask, running_lab, start_lab, the_running_lab  # noqa: E402  # after the packages that may be missing
from testbed.lab.lab_options import Order  # noqa: E402
from testbed.web.real_lab import RealLab  # noqa: E402
from tests.kuijia_app.plans import motivation_plan  # noqa: E402
from tests.testbed.web.browsing import Visit, browsing, serving, visiting  # noqa: E402

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.emulation,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian package chromium)"),
]

CAPACITY, RATE = 20.0, 16.0
T1, TUNNELS = 16, {16, 17, 18}
"""Path ids: T1 = s1-s2-s4 crosses the link that is cut."""

MOST_STARTS = 40
LOOKS, BETWEEN_LOOKS = 100, 200.0


@contextmanager
def lab_of_figure_1() -> Iterator[Path]:
    """Keep a lab up, with three tunnels of equal weight, for a block."""
    plan = motivation_plan((1 / 3, 1 / 3, 1 / 3))
    plan = plan.with_rates_times(CAPACITY / plan.topology.links[0].capacity)
    plan = replace(plan, topology=plan.topology.with_capacity(CAPACITY))
    start_lab(Order.of(plan, {}), lambda _: None)
    up = the_running_lab()
    try:
        yield up
    finally:
        ask(up, "down")


@pytest.fixture(scope="module")
def lab() -> Iterator[Path]:
    if running_lab() is not None:
        pytest.skip("a lab is up on this machine")
    with lab_of_figure_1() as up:
        yield up


def wait(visit: Visit, condition: Callable[[], bool], what: str) -> None:
    for _ in range(LOOKS):
        if condition():
            return
        visit.page.wait_for_timeout(BETWEEN_LOOKS)
    raise AssertionError(f"not within {LOOKS * BETWEEN_LOOKS / 1000:g} s: {what}")


def flows_of(lab: Path) -> list[dict[str, Any]]:
    flows: list[dict[str, Any]] = ask(lab, "counters")["flows"]
    return flows


def one_flow_on_each_tunnel(lab: Path, visit: Visit) -> dict[int, str]:
    """Start flows on the page until each tunnel has one, and stop those that share a tunnel."""
    found: dict[int, str] = {}
    for _ in range(MOST_STARTS):
        start_on_page(visit)
        wait(visit, lambda: all(flow["path_id"] for flow in flows_of(lab)), "the tunnel of a flow is known")
        (new,) = (flow for flow in flows_of(lab) if flow["flow"] not in found.values())
        if new["path_id"] in found:
            visit.page.get_by_role("button", name=f"Stop flow {new['flow']}").click()
            visit.row("flow", new["flow"]).wait_for(state="detached")
        else:
            found[new["path_id"]] = new["flow"]
        if set(found) == TUNNELS:
            return found
    raise AssertionError(f"{MOST_STARTS} flows went to tunnels {set(found)}")


def start_on_page(visit: Visit) -> None:
    visit.page.get_by_role("button", name="Start a flow…").click()
    dialogue = visit.page.get_by_role("dialog", name="Start a flow")
    dialogue.get_by_label("Rate in Mbit/s").fill(str(RATE))
    dialogue.get_by_label("Seconds").fill("300")
    dialogue.get_by_role("button", name="Start a flow").click()
    dialogue.wait_for(state="hidden")


def all_of(visit: Visit, names: set[str], holds: Callable[[float], bool]) -> bool:
    shown = visit.goodputs("kuijia")
    return names <= set(shown) and all(holds(shown[name]) for name in names)


def test_a_click_cuts_a_link_of_switches_and_only_its_victim_falls(lab: Path) -> None:
    assert CHROMIUM is not None
    with serving(RealLab(lab)) as server, browsing(CHROMIUM) as browser, visiting(browser, server.url) as visit:
        flows = one_flow_on_each_tunnel(lab, visit)
        victim, others = flows[T1], {name for tunnel, name in flows.items() if tunnel != T1}
        everyone = {victim, *others}
        wait(visit, lambda: all_of(visit, everyone, is_whole), "all flows get what they want")

        visit.click_on_drawing("s2~s4 from s2")
        visit.page.locator("dialog[open]").get_by_role("button", name="Cut s2-s4").click()
        visit.wait_for_state("link", "s2~s4", "down")
        assert not server.is_up("s2~s4")
        wait(visit, lambda: all_of(visit, {victim}, has_fallen), "the victim falls")
        visit.row("flow", victim).locator(".role", has_text="victim").wait_for()
        for _ in range(3):
            visit.page.wait_for_timeout(700)
            assert all_of(visit, others, is_whole)
            assert all_of(visit, {victim}, has_fallen)
        the_page_shows_what_servers_received(lab, visit, everyone)

        with visiting(browser, server.url) as other:
            other.wait_for_state("link", "s2~s4", "down")
            other.row("link", "s2~s4").get_by_role("button", name="Heal link s2-s4").click()
        visit.wait_for_state("link", "s2~s4", "up")
        wait(visit, lambda: all_of(visit, everyone, is_whole), "all flows are whole again")
        assert visit.complaints == []


def is_whole(rate: float) -> bool:
    return rate > 0.9 * RATE


def has_fallen(rate: float) -> bool:
    return rate < 0.6 * RATE


def the_page_shows_what_servers_received(lab: Path, visit: Visit, names: set[str]) -> None:
    """Hold the table against the lab's own measurement of what iperf3's servers have read, of the same second."""

    def agree() -> bool:
        measured = {flow["flow"]: flow["goodput"] for flow in flows_of(lab)}
        return all(visit.goodputs("kuijia")[name] == pytest.approx(measured[name], rel=0.05, abs=0.2) for name in names)

    wait(visit, agree, "the page and the lab agree")
