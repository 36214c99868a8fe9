"""A network drawn in the page: by mouse and by keyboard, saved as files that read as drawn, and shown by the model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

for module in ("httpx", "playwright", "starlette", "uvicorn"):
    pytest.importorskip(module, reason=f"no {module}, which ./run test installs")

from playwright.sync_api import Browser, Locator  # noqa: E402  # may be missing

from te_solver.formats.demands_file import load_demands  # noqa: E402
from te_solver.formats.topology_file import load_topology  # noqa: E402
from tests.testbed.web.browsing import Server, Visit, browsing, serving, visiting  # noqa: E402  # needs all
from tests.testbed.web.test_page import AXE, HOSTILE, backend  # noqa: E402  # needs all

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian package chromium)")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None
    with browsing(CHROMIUM) as opened:
        yield opened


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(backend()) as running:
        yield running


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Visit]:
    with visiting(browser, server.url) as opened:
        opened.page.get_by_role("button", name="Draw…", exact=True).click()
        yield opened
        assert opened.complaints == []


def dialog(visit: Visit) -> Locator:
    return visit.page.locator("dialog[open]")


def press(visit: Visit, name: str) -> None:
    dialog(visit).get_by_role("button", name=name, exact=True).click()


def at(visit: Visit, x: float, y: float) -> tuple[float, float]:
    """Return a point of the window by shares of the board's width."""
    box = visit.page.locator(".board").bounding_box()
    assert box is not None
    return box["x"] + x * box["width"], box["y"] + y * box["width"]


def click(visit: Visit, *places: tuple[float, float]) -> None:
    for place in places:
        visit.page.mouse.click(*at(visit, *place))


def drag(visit: Visit, start: tuple[float, float], end: tuple[float, float]) -> None:
    visit.page.mouse.move(*at(visit, *start))
    visit.page.mouse.down()
    visit.page.mouse.move(*at(visit, *end), steps=4)
    visit.page.mouse.up()


def saved(visit: Visit, button: str, folder: Path) -> Path:
    with visit.page.expect_download() as download:
        press(visit, button)
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


A, B, C, FREE = (0.2, 0.2), (0.7, 0.2), (0.2, 0.5), (0.5, 0.5)


def test_a_network_is_drawn_saved_and_shown(visit: Visit, server: Server, tmp_path: Path) -> None:
    click(visit, A, B, C)
    drag(visit, A, B)
    drag(visit, B, C)
    drag(visit, A, C)
    drag(visit, C, A)
    assert dialog(visit).locator(".note[role=status]").inner_text() == "there is a link n3-n1"
    drag(visit, C, FREE)  # moves it
    dialog(visit).get_by_label("Name of node n2").fill("Bonn, West")
    dialog(visit).get_by_role("spinbutton", name="n2-n3").fill("250.5")
    dialog(visit).get_by_role("spinbutton", name="Bonn, West-n3").press("Enter")
    dialog(visit).get_by_label("Name of the network").fill("mine")
    dialog(visit).get_by_label("Demand of every pair").fill("25")

    topology = load_topology(saved(visit, "Topology as YAML", tmp_path))
    assert (topology.name, topology.nodes) == ("mine", ("n1", "Bonn, West", "n3"))
    capacities = {link.ends: link.capacity for link in topology.links}
    assert capacities["n3", "Bonn, West"] == capacities["Bonn, West", "n3"] == 250.5
    assert topology.edges == (("n1", "Bonn, West"), ("Bonn, West", "n3"), ("n1", "n3"))
    demands = load_demands(saved(visit, "Demands as CSV", tmp_path), topology)
    assert len({demand.pair for demand in demands}) == 6
    assert {demand.rate for demand in demands} == {25.0}

    press(visit, "Show this network")
    visit.page.locator("#name", has_text="mine").wait_for()
    visit.page.locator("dialog[open]").wait_for(state="detached")
    visit.wait("() => document.querySelectorAll('[data-flow]').length >= 6")
    shown = server.client.get("/api/topology").json()
    assert shown["nodes"] == ["n1", "Bonn, West", "n3"]
    places = {node["name"]: (node["x"], node["y"]) for node in server.client.get("/api/lab").json()["nodes"]}
    assert places["n1"] == pytest.approx((0, 0), abs=0.02)
    assert places["n3"] == pytest.approx((0.6, 0.6), abs=0.02)
    visit.click_on_drawing("Bonn, West~n3 from n3")
    visit.wait_for_state("link", "Bonn, West~n3", "down")
    assert not server.is_up("Bonn, West~n3")


def test_all_of_it_can_be_done_by_fields_alone(visit: Visit) -> None:
    for _ in range(3):
        press(visit, "Add a node")
    press(visit, "Add a link")
    dialog(visit).get_by_label("Link from").select_option("n3")
    press(visit, "Add a link")
    press(visit, "Delete n1-n2")
    press(visit, "Delete n1")
    assert [each.inner_text() for each in dialog(visit).locator("[aria-label=Links] span").all()] == ["n3-n2"]
    names = dialog(visit).locator("[aria-label=Nodes] input")
    assert [each.input_value() for each in names.all()] == ["n2", "n3"]
    dialog(visit).get_by_label("Name of node n2").fill("n3")
    dialog(visit).get_by_label("Name of node n2").press("Enter")
    assert dialog(visit).locator(".note[role=status]").inner_text() == "there is a node n3"
    assert names.first.input_value() == "n2"
    press(visit, "List every pair")
    lines = dialog(visit).get_by_label("or by pair")
    assert lines.input_value() == "n2,n3,10,0\nn3,n2,10,0"
    lines.fill("n2,n9,5")
    press(visit, "Show this network")
    complaint = "request:demands[0].target: unknown node 'n9', expected a node of drawn"
    visit.page.locator("dialog[open] .problem", has_text=complaint).wait_for()
    lines.fill("n2,n3")
    press(visit, "Show this network")
    visit.page.locator("dialog[open] .problem", has_text="line 1: expected source,target,rate,priority").wait_for()
    press(visit, "Clear")
    lines.fill("")
    press(visit, "Show this network")
    visit.page.locator("dialog[open] .problem", has_text="request:links: there is no link").wait_for()
    assert all("status of 422" in each for each in visit.complaints)
    visit.complaints.clear()


def test_the_network_shown_is_drawn_and_its_names_survive_the_files(browser: Browser, tmp_path: Path) -> None:
    names = HOSTILE
    with serving(backend(names)) as server, visiting(browser, server.url) as visit:
        visit.page.get_by_role("button", name="Draw…", exact=True).click()
        press(visit, "Take the network shown")
        path = saved(visit, "Topology as YAML", tmp_path)
        topology = load_topology(path)
        demands = load_demands(saved(visit, "Demands as CSV", tmp_path), topology)
        assert visit.page.locator(".board circle").count() == 4
        assert visit.complaints == []
        assert topology.nodes == names
        assert {demand.source for demand in demands} == set(names)
        assert len(topology.edges) == 5
        visit.page.evaluate(AXE.read_text(encoding="utf-8"))
        assert visit.page.evaluate("() => axe.run('dialog[open]').then(({ violations }) => violations)") == []
        press(visit, "Close")
        visit.page.get_by_role("button", name="Draw…", exact=True).click()
        assert visit.page.locator(".board circle").count() == 4  # a drawing stays


def test_without_the_action_nothing_is_drawn(browser: Browser) -> None:
    with serving(backend(), view_only=True) as server, visiting(browser, server.url) as visit:
        assert visit.page.get_by_role("button", name="Draw…").count() == 0
        refused = server.client.put("/api/network", json={})
        assert refused.status_code == 403
