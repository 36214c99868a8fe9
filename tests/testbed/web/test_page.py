"""The page in a browser: it shows the numbers of the server, and carries out actions by mouse and by keyboard."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import pytest

for module in ("httpx", "playwright", "starlette", "uvicorn"):
    pytest.importorskip(module, reason=f"no {module}, which ./run test installs")

from playwright.sync_api import Browser, ViewportSize  # noqa: E402  # may be missing

from kuijia_base.quantities import rate, rate_of, share  # noqa: E402
from simulator.live import fluid  # noqa: E402  # needs NumPy only
from simulator.live.flow_model import LiveFlowModel  # noqa: E402  # needs NumPy only
from te_solver.model.demands import Demand  # noqa: E402
from te_solver.model.plan import Plan  # noqa: E402
from te_solver.model.topology import Link, Topology  # noqa: E402
from te_solver.solve import solve  # noqa: E402
from testbed.web.backend import SetClock, SetDemands, SetLink, SetNode, SetScheme  # noqa: E402
from testbed.web.model_backend import ModelBackend  # noqa: E402  # needs starlette
from tests.testbed.web.browsing import Server, Visit, browsing, serving, visiting  # noqa: E402  # needs all

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian package chromium)")

AXE = Path(__file__).with_name("vendor") / "axe-core" / "axe.min.js"
SCHEMES = ("kuijia", "rescaling")
NAMES = ("s1", "s2", "s3", "s4")
HOSTILE = ("<img src=x onerror=alert(1)>", '"><script>alert(2)</script>', "a&amp;b' onclick='x", "${alert(3)}/../%2e")
PIXELS_OF_FLOWS = """() => {
    const canvas = document.querySelector('[data-view=kuijia] .chart canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return [...document.querySelectorAll('[data-flow] .swatch')].map(swatch => {
        const colour = getComputedStyle(swatch).backgroundColor.match(/\\d+/g).map(Number);
        let found = 0;
        for (let at = 0; at < data.length; at += 4) found += colour.every((part, place) => data[at + place] === part);
        return found;
    });
}"""
"""Returns for each flow of the table how many pixels of the chart have its colour."""

PHONE: ViewportSize = {"width": 360, "height": 700}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None
    with browsing(CHROMIUM) as opened:
        yield opened


@pytest.fixture(scope="module")
def model() -> ModelBackend:
    return backend()


@pytest.fixture(scope="module")
def server(model: ModelBackend) -> Iterator[Server]:
    with serving(model) as running:
        yield running


@pytest.fixture(scope="module")
def shared(browser: Browser, server: Server) -> Iterator[Visit]:
    with visiting(browser, server.url) as opened:
        yield opened


@pytest.fixture
def visit(shared: Visit, server: Server, model: ModelBackend) -> Iterator[Visit]:
    """The page that tests share, as opening it costs a second, over the model as it was at first."""
    restore(model, server)
    shared.wait("() => !document.querySelector('td.state.down') && document.querySelectorAll('.view').length === 2")
    shared.wait("() => document.querySelectorAll('[data-flow]').length === 3")
    yield shared
    assert shared.complaints == []


def restore(model: ModelBackend, server: Server) -> None:
    view = server.state()["views"][0]
    for link in view["links"]:
        if not link["up"]:
            model.act(SetLink(link["id"], up=True))
    for node in view["nodes_down"]:
        model.act(SetNode(node, up=True))
    if model.describe().schemes != SCHEMES:
        model.act(SetScheme(SCHEMES))
    if sum(server.goodputs("kuijia").values()) != 3000:
        model.act(SetDemands((("s1", "s4", 3000.0, 0),)))
    model.act(SetClock(speed=1.0, paused=False))


def solved(topology: Topology, demands: Sequence[Demand]) -> Plan:
    return solve(topology, demands, 3)


def backend(names: Sequence[str] = NAMES) -> ModelBackend:
    """Return the model of Fig. 1: three full tunnels of 1 Gbit/s from the first node to the last."""
    s1, s2, s3, s4 = names
    cables = [(s1, s2), (s2, s4), (s1, s4), (s1, s3), (s3, s4)]
    links = [Link(a, b, 1000.0) for one, other in cables for a, b in ((one, other), (other, one))]
    topology = Topology("fig1", tuple(names), tuple(links))
    return ModelBackend(LiveFlowModel(solved(topology, [Demand(s1, s4, 3000.0)]), SCHEMES), solved)


def victims(server: Server, scheme: str) -> set[str]:
    (view,) = (each for each in server.state()["views"] if each["scheme"] == scheme)
    return {flow["id"] for flow in view["flows"] if flow["role"] == "victim"}


def test_a_click_on_a_link_cuts_it_and_only_victims_fall_under_kuijia(visit: Visit, server: Server) -> None:
    before = visit.goodputs("kuijia")
    assert set(before.values()) == {1000.0}

    visit.click_on_drawing("s2~s4 from s2")
    visit.wait_for_state("link", "s2~s4", "down")
    assert not server.is_up("s2~s4")
    (victim,) = victims(server, "kuijia")
    visit.wait(
        "id => document.querySelector(`[data-flow=${id}] [data-view=kuijia] .role`).textContent === 'victim'", victim
    )
    others = set(before) - {victim}
    for scheme in ("kuijia", "rescaling"):
        assert visit.goodputs(scheme) == pytest.approx(server.goodputs(scheme), rel=0.005)
    kuijia, rescaling = visit.goodputs("kuijia"), visit.goodputs("rescaling")
    assert kuijia[victim] < 1
    assert all(kuijia[other] == before[other] for other in others)
    assert all(rescaling[other] < 0.8 * before[other] for other in others)

    chart = visit.page.locator("[data-view=kuijia] .chart")
    assert "link s2-s4 is down at" in (chart.get_attribute("aria-label") or "")
    assert "Links down: s2-s4." in (visit.page.locator("[data-view=kuijia] .drawing").get_attribute("aria-label") or "")
    visit.page.locator("#announcer", has_text="link s2-s4 is down").wait_for(state="attached")
    assert visit.page.locator(".log li[data-kind=cut]", has_text="link s2-s4 is down").count() == 1

    visit.click_on_drawing("s2~s4 from s4", "rescaling")
    visit.wait_for_state("link", "s2~s4", "up")
    assert server.is_up("s2~s4")
    assert visit.goodputs("kuijia") == before


def test_the_curves_are_the_goodput_over_time(visit: Visit) -> None:
    visit.row("link", "s2~s4").get_by_role("button").click()
    visit.wait_for_state("link", "s2~s4", "down")
    assert visit.page.locator(".chart canvas").count() == 2
    visit.page.get_by_label("Curves").select_option("flow")
    visit.wait(f"() => ({PIXELS_OF_FLOWS})().filter(each => each > 20).length >= 2")
    for box in visit.page.get_by_role("checkbox").all():
        box.uncheck()
    visit.wait("() => document.querySelector('.chart').getAttribute('aria-label').startsWith('Goodput of 0 flows')")


def test_another_browser_sees_a_cut_and_can_heal_it(browser: Browser, visit: Visit, server: Server) -> None:
    with visiting(browser, server.url) as other:
        visit.row("link", "s1~s4").get_by_role("button", name="Cut link s1-s4").click()
        other.wait_for_state("link", "s1~s4", "down")
        other.row("link", "s1~s4").get_by_role("button", name="Heal link s1-s4").click()
        visit.wait_for_state("link", "s1~s4", "up")
        assert other.complaints == []
    assert server.is_up("s1~s4")


def test_the_keyboard_alone_cuts_a_link(visit: Visit, server: Server) -> None:
    visit.page.reload()
    visit.wait_for_state("link", "s2~s4", "up")
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate("document.activeElement.textContent") == "Skip to the list of links"
    visit.page.keyboard.press("Enter")
    for _ in range(12):
        visit.page.keyboard.press("Tab")
        if visit.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Cut link s2-s4":
            break
    visit.page.keyboard.press("Enter")
    visit.wait_for_state("link", "s2~s4", "down")
    assert visit.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Heal link s2-s4"
    visit.page.keyboard.press("Enter")
    visit.wait_for_state("link", "s2~s4", "up")
    assert server.is_up("s2~s4")


def test_a_click_on_a_node_takes_it_down_unless_clicks_only_show(visit: Visit, server: Server) -> None:
    visit.click_on_drawing("node s3")
    visit.wait_for_state("node", "s3", "down")
    assert server.state()["views"][0]["nodes_down"] == ["s3"]
    visit.row("node", "s3").get_by_role("button", name="Restore node s3").click()
    visit.wait_for_state("node", "s3", "up")

    visit.page.get_by_label("A click").select_option("show")
    visit.click_on_drawing("node s2")
    visit.click_on_drawing("s1~s4 from s1")
    visit.page.locator("[data-view=kuijia] .tip", has_text="s1 → s4: normal 1 Gbit/s").wait_for()
    state = server.state()["views"][0]
    assert state["nodes_down"] == []
    assert all(link["up"] for link in state["links"])
    visit.page.get_by_label("A click").select_option("act")


def test_rates_and_shares_are_written_as_on_the_command_line(visit: Visit) -> None:
    rates = [0.0, 1e-10, 2e-6, 0.0123456, 3.3577, 16.0, 95.4321, 999.94, 999.96, 1333.3333, 400_000.0, 2e6, 1.5e9]
    shares = [0.0, 4e-5, 6e-5, 0.25, 1 / 3, 0.99999, 1.0]
    shown = visit.page.evaluate(
        "([rates, shares]) => import('/quantities.js').then(({ rate, rateOf, percent }) =>"
        " [rates.map(each => [rate(each), rateOf(each, 4000)]), shares.map(percent)])",
        [rates, shares],
    )
    assert shown == [[[rate(each), rate_of(each, 4000)] for each in rates], [share(each) for each in shares]]


def test_tunnels_of_a_pair_are_drawn_and_dead_ones_named(visit: Visit) -> None:
    drawn = "document.querySelector('[data-view=kuijia] .drawing')._cyreg.cy.edges('.tunnel').length"
    assert visit.page.evaluate(drawn) == 0
    visit.page.locator("[data-flow] button.plain").first.click()
    assert visit.page.evaluate(drawn) == 5  # two tunnels of two links, and one of one
    tunnels = visit.page.locator(".tunnels li")
    assert tunnels.count() == 3
    visit.row("link", "s2~s4").get_by_role("button").click()
    dead = visit.page.locator(".tunnels li", has_text="dead")
    dead.wait_for()
    assert "s1 → s2 → s4, 33.33%" in (dead.text_content() or "")
    visit.page.get_by_role("button", name="Show none").click()
    assert visit.page.evaluate(drawn) == 0


def test_flows_start_and_stop_and_refusals_give_their_reason(visit: Visit, server: Server) -> None:
    visit.page.get_by_role("button", name="Start a flow…").click()
    dialogue = visit.page.get_by_role("dialog", name="Start a flow")
    dialogue.get_by_label("Rate in Mbit/s").fill("12.5")
    dialogue.get_by_role("button", name="Start a flow").click()
    visit.row("flow", "x1").wait_for()
    assert server.goodputs("kuijia")["x1"] == visit.goodputs("kuijia")["x1"]
    visit.page.get_by_role("button", name="Stop flow x1").click()
    visit.row("flow", "x1").wait_for(state="detached")

    visit.page.get_by_role("button", name="Start a flow…").click()
    dialogue.get_by_label("From").select_option("s4")
    dialogue.get_by_label("To").select_option("s1")
    dialogue.get_by_role("button", name="Start a flow").click()
    dialogue.get_by_role("alert").filter(has_text="no tunnel of class 0").wait_for()
    dialogue.get_by_role("button", name="Close").click()
    assert visit.complaints.pop().startswith("Failed to load resource")


def test_demands_are_changed_and_the_plan_is_withdrawn(visit: Visit, server: Server) -> None:
    visit.page.get_by_role("button", name="Demands…").click()
    dialogue = visit.page.get_by_role("dialog", name="Demands")
    visit.wait("() => document.querySelector('dialog[open] textarea').value === 's1,s4,3000,0'")
    dialogue.get_by_label("Times").fill("0.5")
    dialogue.get_by_role("button", name="Solve and apply").click()
    visit.page.locator(".log li[data-kind=plan]", has_text="1.5 Gbit/s of 1.5 Gbit/s").wait_for()
    assert sum(server.goodputs("kuijia").values()) == pytest.approx(1500)
    visit.wait("() => document.querySelector('[data-role=untouched] dd').textContent.includes('1.5 of 1.5 Gbit/s')")
    visit.page.get_by_role("button", name="Plan…").click()
    visit.page.get_by_role("button", name="Withdraw the plan in force").click()
    visit.wait("() => document.querySelectorAll('[data-flow]').length === 0")
    assert server.client.get("/api/plan").status_code == 404


def test_schemes_and_the_clock_are_chosen(visit: Visit, server: Server) -> None:
    visit.page.get_by_label("Scheme").select_option(json.dumps(["kuijia"], separators=(",", ":")))
    visit.wait("() => document.querySelectorAll('.view').length === 1")
    assert [view["scheme"] for view in server.state()["views"]] == ["kuijia"]
    visit.page.get_by_role("button", name="Pause").click()
    visit.page.get_by_role("button", name="Go on").wait_for()
    assert server.state()["clock"]["paused"]
    visit.page.get_by_label("Speed").select_option("5")
    visit.page.get_by_role("button", name="Go on").click()
    visit.page.get_by_role("button", name="Pause").wait_for()
    assert server.state()["clock"] == {"speed": 5.0, "paused": False}


def test_a_viewer_has_no_actions(browser: Browser) -> None:
    with serving(backend(), view_only=True) as server, visiting(browser, server.url) as visit:
        assert visit.page.locator("#source").text_content() == "flow model, view only"
        assert visit.row("link", "s2~s4").get_by_role("button").count() == 0
        visit.click_on_drawing("s2~s4 from s2")
        assert visit.page.get_by_role("button", name="Pause").count() == 0
        assert server.is_up("s2~s4")
        assert visit.complaints == []


def test_a_lost_connection_is_said_and_taken_up_again(browser: Browser) -> None:
    with serving(backend()) as first:
        context = visiting(browser, first.url)
        visit = context.__enter__()
    try:
        visit.page.locator("#stream", has_text="connection lost").wait_for()
        with serving(backend(), port=first.port) as second:
            visit.page.locator("#stream", has_text="live").wait_for()
            visit.row("link", "s2~s4").get_by_role("button").click()
            visit.wait_for_state("link", "s2~s4", "down")
            assert not second.is_up("s2~s4")
    finally:
        context.__exit__(None, None, None)


def test_without_its_token_the_page_asks_for_it(browser: Browser, server: Server) -> None:
    with visiting(browser, server.url.partition("#")[0]) as visit:
        visit.page.locator("#stream", has_text="no access").wait_for()
        visit.page.get_by_label("Token").fill(server.url.partition("token=")[2])
        visit.page.get_by_role("button", name="Open").click()
        visit.page.locator("#stream", has_text="live").wait_for()


def test_a_phone_shows_all_without_scrolling_sideways(visit: Visit) -> None:
    before = visit.page.viewport_size
    assert before is not None
    visit.page.set_viewport_size(PHONE)
    try:
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        visit.row("link", "s2~s4").get_by_role("button").click()
        visit.wait_for_state("link", "s2~s4", "down")
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        # As before the page has laid out its drawings again.
        visit.page.evaluate(
            "document.querySelectorAll('.drawing canvas').forEach((each) => each.style.width = '600px')"
        )
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    finally:
        visit.page.set_viewport_size(before)


def test_names_are_never_read_as_html(browser: Browser) -> None:
    with serving(backend(HOSTILE)) as server, visiting(browser, server.url) as visit:
        first, second = HOSTILE[:2]
        visit.row("link", f"{first}~{second}").get_by_role("button").click()
        visit.wait_for_state("link", f"{first}~{second}", "down")
        visit.row("node", HOSTILE[3]).get_by_role("button").click()
        visit.wait_for_state("node", HOSTILE[3], "down")
        visit.page.locator("[data-flow] button.plain").first.click()
        assert visit.page.locator("img").count() == 0
        assert visit.page.locator("script").count() == 1
        assert visit.page.locator("[onclick]").count() == 0
        assert visit.row("node", first).locator("th").text_content() == first
        assert visit.complaints == []


def test_nodes_are_taken_down_whatever_they_are_called(browser: Browser) -> None:
    names = ("..", "/", "🦊", "100%2E")
    with serving(backend(names)) as server, visiting(browser, server.url) as visit:
        for name in names:
            visit.row("node", name).get_by_role("button").click()
            visit.wait_for_state("node", name, "down")
        assert set(server.state()["views"][0]["nodes_down"]) == set(names)
        visit.row("node", "..").get_by_role("button").click()
        visit.wait_for_state("node", "..", "up")
        assert visit.complaints == []


def test_light_and_dark_follow_the_system_unless_chosen(visit: Visit) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    node = "document.querySelector('.drawing')._cyreg.cy.nodes()[0].style('background-color')"
    light, lighter = visit.page.evaluate(background), visit.page.evaluate(node)
    visit.page.emulate_media(color_scheme="dark")
    dark = visit.page.evaluate(background)
    assert dark != light
    visit.wait(f"() => {node} !== '{lighter}'")  # the page is told before it paints the next time
    visit.page.get_by_label("Colours").select_option("light")
    assert visit.page.evaluate(background) == light
    visit.wait(f"() => {node} === '{lighter}'")
    visit.page.reload()
    visit.page.locator("#stream", has_text="live").wait_for()
    assert visit.page.evaluate(background) == light
    visit.page.get_by_label("Colours").select_option("system")
    assert visit.page.evaluate(background) == dark


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Visit, colours: Literal["light", "dark"]) -> None:
    visit.page.emulate_media(color_scheme=colours)
    visit.row("link", "s2~s4").get_by_role("button").click()
    visit.wait_for_state("link", "s2~s4", "down")
    visit.page.locator("[data-flow] button.plain").first.click()
    visit.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = visit.page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    assert len(found["passes"]) > 20
    serious = [
        f"{each['id']}: {node['html']}"
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"]
    ]
    assert serious == []


TOP = "() => document.querySelector('[data-view=kuijia] .drawing').getBoundingClientRect().top + window.scrollY"


@pytest.mark.parametrize("width", [360, 800, 1280, 1900])
def test_a_cut_does_not_move_the_drawing_under_the_pointer(browser: Browser, width: int) -> None:
    """A second click would cut another link."""
    model = backend()
    with serving(model) as server, visiting(browser, server.url, viewport={"width": width, "height": 900}) as visit:
        before = visit.page.evaluate(TOP)
        model.act(SetLink("s2~s4", up=False))
        visit.wait("() => document.querySelector('[data-view=rescaling] .tile[data-role=direct]:not(.none)')")
        visit.wait("() => document.querySelector('[data-view=kuijia] .tile[data-role=victim]:not(.none)')")
        assert visit.page.evaluate(TOP) == before


def test_roles_are_counted_over_all_flows(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the largest flows have rows in the table; the others count, too."""
    monkeypatch.setattr(fluid, "MOST_FLOWS", 1)
    model = backend()
    with serving(model) as server, visiting(browser, server.url) as visit:
        model.act(SetNode("s2", up=False))
        model.act(SetNode("s3", up=False))
        tile = "[data-view=kuijia] .tile[data-role={}] dd"
        visit.page.locator(tile.format("victim"), has_text="2 flows, ").wait_for()
        assert visit.page.locator(tile.format("untouched")).text_content() == "none"
        assert visit.page.locator("[data-flow]").count() == 1
