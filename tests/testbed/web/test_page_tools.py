"""What a teacher needs of the page: zoom, pictures, undo, scenarios, questions before cuts, and curves that stay."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

for module in ("httpx", "playwright", "starlette", "uvicorn"):
    pytest.importorskip(module, reason=f"no {module}, which ./run test installs")

from playwright.sync_api import Browser, Locator  # noqa: E402  # may be missing

from testbed.web.backend import SetClock  # noqa: E402  # needs NumPy only
from testbed.web.model_backend import ModelBackend  # noqa: E402  # needs starlette
from tests.testbed.web.browsing import Server, Visit, browsing, serving, visiting  # noqa: E402  # needs all
from tests.testbed.web.test_page import SCHEMES, backend  # noqa: E402  # needs all

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian package chromium)")

LINK = "s2~s4"
PIXELS_OF_ROLES = """roles => {
    const canvas = document.querySelector('[data-view=kuijia] .chart canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return roles.map(role => {
        const dot = getComputedStyle(document.querySelector(`.tile[data-role=${role}] dt`), '::before');
        const colour = dot.backgroundColor.match(/\\d+/g).map(Number);
        let found = 0;
        for (let at = 0; at < data.length; at += 4) found += colour.every((part, place) => data[at + place] === part);
        return found > 20;
    });
}"""
"""Returns for each of these roles whether the chart has a curve of its colour."""

NODE_PLACE = "() => document.querySelector('.drawing')._cyreg.cy.getElementById('node s2').renderedPosition()"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None
    with browsing(CHROMIUM) as opened:
        yield opened


@pytest.fixture
def model() -> ModelBackend:
    return backend()


@pytest.fixture
def server(model: ModelBackend) -> Iterator[Server]:
    with serving(model) as running:
        yield running


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Visit]:
    with visiting(browser, server.url) as opened:
        yield opened
        assert opened.complaints == []


def place(visit: Visit) -> tuple[float, float]:
    found = visit.page.evaluate(NODE_PLACE)
    return found["x"], found["y"]


def button(visit: Visit, name: str) -> Locator:
    return visit.page.get_by_role("button", name=name, exact=True).first


def cut_by_table(visit: Visit, link: str = LINK) -> None:
    visit.row("link", link).get_by_role("button").first.click()
    visit.wait_for_state("link", link, "down")


def test_a_zoomed_drawing_is_dragged_without_cuts_and_a_click_still_meets_its_link(
    visit: Visit, server: Server
) -> None:
    whole = place(visit)
    button(visit, "Zoom in").click()
    button(visit, "Zoom in").click()
    near = place(visit)
    assert near != pytest.approx(whole, abs=5)

    box = visit.page.locator("[data-view=kuijia] .drawing").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    visit.page.mouse.move(x, y)
    visit.page.mouse.down()
    visit.page.mouse.move(x + 40, y + 25, steps=5)
    visit.page.mouse.up()
    assert place(visit) == pytest.approx((near[0] + 40, near[1] + 25), abs=1)
    assert all(server.is_up(each["id"]) for each in server.state()["views"][0]["links"])

    visit.click_on_drawing("s1~s4 from s1")  # in the middle
    visit.wait_for_state("link", "s1~s4", "down")
    button(visit, "Fit the whole network").click()
    assert place(visit) == pytest.approx(whole, abs=0.5)


def test_the_wheel_zooms_with_ctrl_alone_at_the_point_under_the_mouse(visit: Visit) -> None:
    box = visit.page.locator("[data-view=kuijia] .drawing").bounding_box()
    assert box is not None
    whole = place(visit)
    visit.page.mouse.move(box["x"] + whole[0], box["y"] + whole[1])
    visit.page.keyboard.down("Control")
    visit.page.mouse.wheel(0, -400)
    visit.page.keyboard.up("Control")
    visit.wait("() => document.querySelector('.drawing')._cyreg.cy.getElementById('node s2').renderedPosition()")
    assert place(visit) == pytest.approx(whole, abs=1)
    other = "() => document.querySelector('.drawing')._cyreg.cy.getElementById('node s1').renderedPosition().x"
    assert visit.page.evaluate(other) < whole[0] - 1


def test_full_screen_enlarges_one_view_and_a_second_click_leaves_it(visit: Visit) -> None:
    def height() -> float:
        box = visit.page.locator("[data-view=kuijia] .drawing").bounding_box()
        assert box is not None
        return box["height"]

    before = height()
    button(visit, "Full screen").click()
    visit.wait("() => document.fullscreenElement?.dataset.view === 'kuijia'")
    visit.wait("before => document.querySelector('.drawing').clientHeight > before + 50", before)
    visit.click_on_drawing(f"{LINK} from s2")
    visit.wait_for_state("link", LINK, "down")
    button(visit, "Full screen").click()
    visit.wait("() => document.fullscreenElement === null")
    assert height() == pytest.approx(before, abs=1)


def test_a_drawing_is_saved_as_a_picture_of_its_size(visit: Visit, tmp_path: Path) -> None:
    with visit.page.expect_download() as download:
        button(visit, "PNG of the drawing").click()
    assert download.value.suggested_filename == "fig1-kuijia.png"
    file = tmp_path / "drawing.png"
    download.value.save_as(file)
    data = file.read_bytes()
    box = visit.page.locator("[data-view=kuijia] .drawing").bounding_box()
    assert box is not None
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    size = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    assert size == pytest.approx((box["width"], box["height"]), abs=1)
    assert len(data) > 3000  # one colour alone takes less


def test_undo_takes_back_the_last_cuts_and_heal_all_mends_links_and_nodes(visit: Visit, server: Server) -> None:
    cut_by_table(visit)
    cut_by_table(visit, "s1~s4")
    button(visit, "Undo").click()
    visit.wait_for_state("link", "s1~s4", "up")
    assert not server.is_up(LINK)
    button(visit, "Undo").click()
    visit.wait_for_state("link", LINK, "up")

    cut_by_table(visit)
    visit.row("node", "s3").get_by_role("button").first.click()
    visit.wait_for_state("node", "s3", "down")
    button(visit, "Heal all").click()
    visit.wait_for_state("link", LINK, "up")
    visit.wait_for_state("node", "s3", "up")


def test_a_scenario_cuts_and_heals_by_the_clock_of_the_lab(visit: Visit, server: Server, model: ModelBackend) -> None:
    model.act(SetClock(speed=5.0, paused=False))
    button(visit, "Scenario…").click()
    text = visit.page.locator("dialog[open] textarea")
    text.fill("1 cut s2-s9")
    button(visit, "Run").click()
    visit.page.locator(".problem", has_text="line 1: there is no link s2-s9").wait_for()
    text.fill("2 cut s4-s2\n42 heal s2-s4\n4 down s3\n40 up s3\n")
    address = visit.page.locator("dialog[open] input[type=text]").input_value()
    begun = server.state()["time"]
    button(visit, "Run").click()
    visit.wait_for_state("link", LINK, "down")
    assert server.state()["time"] >= begun + 2
    # The page has seven seconds to show what is down, and the clock hastens only then.
    visit.wait_for_state("node", "s3", "down")
    model.act(SetClock(speed=20.0))
    visit.wait_for_state("node", "s3", "up")
    visit.wait_for_state("link", LINK, "up")
    assert server.state()["time"] >= begun + 42
    visit.page.locator("button", has_text="Stop the scenario").wait_for(state="hidden")

    assert "token" not in address
    visit.page.goto(address)
    button(visit, "Scenario…").click()
    assert visit.page.locator("dialog[open] textarea").input_value().startswith("2 cut s4-s2\n42 heal")


def test_a_click_that_asks_first_cuts_only_after_yes(visit: Visit, server: Server) -> None:
    visit.page.get_by_label("A click").select_option("ask")
    visit.click_on_drawing(f"{LINK} from s2")
    question = visit.page.locator("dialog[open]", has_text="Cut s2-s4 on flow model?")
    question.get_by_role("button", name="Cancel").click()
    visit.page.locator("dialog[open]").wait_for(state="detached")
    assert server.is_up(LINK)
    visit.click_on_drawing(f"{LINK} from s2")
    question.get_by_role("button", name="Cut s2-s4").click()
    visit.wait_for_state("link", LINK, "down")


def test_the_curves_go_on_where_they_were_when_the_page_is_loaded_again(visit: Visit, model: ModelBackend) -> None:
    model.act(SetClock(speed=5.0, paused=False))
    since = (
        "() => Number(document.querySelector('.chart').getAttribute('aria-label')?.match(/since ([-\\d.]+) s/)?.[1])"
    )
    visit.wait("() => Number(document.querySelector('.time').textContent.split(' ')[0]) > 25")
    before = visit.page.evaluate(since)
    assert before < 14  # the page knows more than the ten seconds that it shows at least
    visit.page.reload()
    visit.page.locator("#stream", has_text="live").wait_for()
    visit.wait(since)
    assert visit.page.evaluate(since) == before


def test_each_view_says_in_a_sentence_who_loses_how_much(visit: Visit) -> None:
    def says(scheme: str) -> Locator:
        return visit.page.locator(f"[data-view={scheme}] .verdict")

    assert says("kuijia").inner_text() == "No flow is a victim; flows lose nothing of their rate."
    top = "() => document.querySelector('.drawing').getBoundingClientRect().top + scrollY"
    before = visit.page.evaluate(top)
    cut_by_table(visit)
    visit.wait("() => document.querySelector('.verdict').textContent.startsWith('Victims')")
    assert says("kuijia").inner_text() == "Victims lose all of their rate, everybody else nothing."
    # Two links carry half of the victim each, and share their room evenly between it and their own flow.
    assert says("rescaling").inner_text() == "Victims lose nothing of their rate, everybody else 50.00%."
    assert visit.page.evaluate(top) == before


def test_any_two_schemes_can_be_compared(visit: Visit) -> None:
    menu = visit.page.get_by_label("Scheme")
    single = menu.locator("option").all_inner_texts()
    names = [each for each in single if " | " not in each]
    pairs = {frozenset(each.split(" | ")) for each in single if " | " in each}
    assert len(names) >= 4
    assert len(pairs) == len(names) * (len(names) - 1) // 2
    assert {each.capitalize() for each in SCHEMES} in pairs


def shares(visit: Visit, scheme: str) -> dict[str, str]:
    """Return where the curves of roles have ended."""
    label = visit.page.locator(f"[data-view={scheme}] .chart").get_attribute("aria-label") or ""
    return dict(each.split() for each in label.split(", now ")[1].split(", since")[0].split(", "))


def test_curves_by_role_show_that_victims_alone_lose_under_kuijia(visit: Visit, model: ModelBackend) -> None:
    visit.wait("() => document.querySelector('.chart').getAttribute('aria-label')?.includes('untouched')")
    assert shares(visit, "kuijia") == shares(visit, "rescaling") == {"untouched": "100.00%"}
    model.act(SetClock(speed=5.0, paused=False))
    cut_by_table(visit)
    visit.wait("() => [...document.querySelectorAll('.chart')].every(each => each.ariaLabel.includes('victim '))")
    assert shares(visit, "kuijia") == {"direct": "100.00%", "victim": "0%"}
    assert shares(visit, "rescaling") == {"direct": "50.00%", "victim": "100.00%"}
    visit.wait("() => Number(document.querySelector('.time').textContent.split(' ')[0]) > 25")
    assert all(visit.page.evaluate(PIXELS_OF_ROLES, ["direct", "victim"]))


def test_flows_that_are_chosen_have_curves_of_their_own(visit: Visit) -> None:
    chart = visit.page.locator("[data-view=kuijia] .chart")
    assert (chart.get_attribute("aria-label") or "").startswith("Share of the wanted rate by role, now ")
    visit.page.get_by_role("checkbox").first.uncheck()
    visit.wait("() => document.querySelector('.chart').getAttribute('aria-label').startsWith('Goodput of 2 flows')")
    assert visit.page.get_by_label("Curves").input_value() == "flow"
    visit.page.get_by_label("Curves").select_option("role")
    visit.wait("() => document.querySelector('.chart').getAttribute('aria-label').startsWith('Share of')")
