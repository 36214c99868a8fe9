"""The report: one self-contained page of valid HTML, with every name as it is."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from kuijia_base.picture_file import picture_bytes
from simulator.flow.what_if import ABORIGINAL, OLD, Contender, compare
from simulator.studies.whatif.html_report import (
    BANDS,
    LISTED,
    answer,
    figures,
    html_report,
    loss_and_vacancy,
    network_map,
)
from simulator.studies.whatif.study import Likelihood, Provenance, WhatIfStudy
from te_solver.model.demands import Demand
from te_solver.model.failures import PUBLISHED, Failure, from_counts, link_pairs, single_links, single_nodes
from te_solver.model.topology import Link, Topology
from te_solver.pictures.layout import mapped
from te_solver.schemes.models.rescaling import Kuijia, Rescaling
from te_solver.schemes.models.traffic import PlannedTraffic
from te_solver.solve import solve
from tests.simulator.flow.outcomes import what_if

VOID = {"meta", "input", "img", "br", "link", "hr", "circle", "line"}
PROVENANCE = Provenance("kuijia whatif '<net>' demands", {"Python": "3.x"}, ("a <guess> & more",))
ENDS = "a<b>", 'c&"d"'
"""Names that are markup unless they are escaped."""


def study(
    failures: tuple[Failure, ...] | None = None,
    *,
    likely: bool = False,
    links: int = 3,
    rates: tuple[float, ...] = (500, 400),
) -> WhatIfStudy:
    """Return two nodes joined through others, classes of traffic, and one more link that carries nothing."""
    middle = [f"m{number}$" for number in range(links)]
    edges = [(end, each) for each in middle for end in ENDS] + [(ENDS[1], "alone")]
    both = tuple(Link(*ends, 1000) for a, b in edges for ends in ((a, b), (b, a)))
    topology = Topology("<script>alert(1)</script>", (*ENDS, *middle, "alone"), both)
    demands = [Demand(*ENDS, rate * links, priority) for priority, rate in enumerate(rates)]
    traffic = PlannedTraffic.of(solve(topology, demands, links))
    failures = failures or tuple(single_links(topology))
    contenders = [Contender(Kuijia(), traffic), Contender(Rescaling(), traffic)]
    likelihood = Likelihood("table <1>", from_counts(topology, failures, PUBLISHED["table1-5min"])) if likely else None
    return WhatIfStudy(topology, contenders, failures, list(what_if(contenders, failures)), likelihood)


class Page(HTMLParser):
    """Checks that elements nest and ids are unique, and collects the parts that a test reads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())


@pytest.fixture(scope="module")
def text() -> str:
    return html_report(study(likely=True), PROVENANCE)


def test_elements_nest_and_ids_are_unique(text: str) -> None:
    page = Page(text)
    assert page.open == []
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(set(ids)) == len(ids)
    assert {value for tag, name, value in page.attributes if (tag, name) == ("label", "for")} == set(ids)


def test_the_page_needs_nothing_else(text: str) -> None:
    page = Page(text)
    assert page.tags["script"] == 1  # that sorts
    assert page.tags["link"] == page.tags["iframe"] == 0
    sources = [value for _, name, value in page.attributes if name in {"src", "href", "xlink:href"}]
    assert len(sources) == 3
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert "url(" not in text
    assert "@import" not in text


def test_the_page_opens_with_who_loses_what() -> None:
    # Two tunnels are full. The third carries 700, for which there is no room; fair shares give it 350 of each.
    of = study(rates=(900,))
    assert answer(of.numbers) == (
        "If a<b>-m0$ fails, victims lose 100.00% and nobody else anything under kuijia; "
        "victims lose nothing and others 35.00% under rescaling."
    )
    assert answer(of.numbers) in Page(html_report(of, PROVENANCE)).words
    assert answer(study().numbers) == (
        "If a<b>-m0$ fails, victims lose 70.00% and nobody else anything under kuijia and rescaling."
    )
    harmless = study((Failure("spur", ((ENDS[1], "alone"),)),))
    assert answer(harmless.numbers) == "No failure costs anything, under any scheme."


def test_the_page_has_a_dark_look_and_tables_that_sort(text: str) -> None:
    assert "@media screen and (prefers-color-scheme: dark)" in text
    assert [value for tag, name, value in Page(text).attributes if (tag, name) == ("table", "class")] == [
        "sortable"
    ] * 2


def test_names_are_shown_as_they_are(text: str) -> None:
    page = Page(text)
    assert "What if: <script>alert(1)</script>" in page.words
    assert "a<b>-m0$" in page.words
    assert "kuijia whatif '<net>' demands" in page.words
    assert "a <guess> & more" in page.words
    assert any("table <1>" in word for word in page.words)


def test_every_link_is_on_both_maps_of_each_scheme(text: str) -> None:
    lines = [value for tag, name, value in Page(text).attributes if (tag, name) == ("line", "class")]
    on_maps = 2 * 2 * 7
    in_legends = 2 * 2 * len(BANDS)
    assert len(lines) == on_maps + in_legends


def test_classes_and_availability_come_where_there_are_any(text: str) -> None:
    words = Page(text).words
    assert "Classes of traffic" in words
    assert "Availability" in words
    assert "Availability" not in Page(html_report(study(), PROVENANCE)).words


def test_the_same_study_makes_the_same_page(text: str) -> None:
    assert html_report(study(likely=True), PROVENANCE) == text


def test_long_tables_are_cut_with_a_note() -> None:
    of = study(links=6)
    pairs = tuple(link_pairs(of.topology))
    page = Page(html_report(study(pairs, links=6), PROVENANCE))
    ranks = [word for word in page.words if word == str(LISTED)]
    assert len(ranks) >= 2
    assert str(LISTED + 1) not in page.words
    assert any("more failures with losses are not listed here" in word for word in page.words)


def test_a_map_tells_what_the_worst_failure_with_a_link_costs() -> None:
    # Each of three tunnels carries 900, and the two others have 100 left each; victims of class 1 yield.
    of = study()
    shapes = network_map(of, of.contenders[0], mapped(of.topology, 1), OLD)
    looks = {link.title: link.css for link in shapes.links}
    assert looks['c&"d"-alone: 0.00%'] == "b0"
    assert looks["a<b>-m0$: 25.93%"] == "b5"
    # The costliest links are drawn last.
    assert shapes.links[0].title == 'c&"d"-alone: 0.00%'
    assert all(0 <= x <= shapes.width for link in shapes.links for x in (link.x1, link.x2))
    assert all(0 <= y <= shapes.height for link in shapes.links for y in (link.y1, link.y2))


def test_links_that_no_failure_has_are_told_apart_and_failed_nodes_are_coloured() -> None:
    of = study()
    nodes = study(tuple(single_nodes(of.topology)))
    shapes = network_map(nodes, nodes.contenders[0], mapped(of.topology, 1), ABORIGINAL)
    assert {link.css for link in shapes.links} == {"bx"}
    assert [band.css for band in shapes.bands][-1] == "bx"
    ends = network_map(nodes, nodes.contenders[0], mapped(of.topology, 1), OLD).nodes
    assert ends[0].title == "a<b>: 100.00%"
    assert ends[0].css == "b5"


def test_a_study_in_which_nothing_is_lost_has_its_page() -> None:
    of = study()
    beside = Failure("spur", ((ENDS[1], "alone"),))
    page = Page(html_report(study((beside,)), PROVENANCE))
    assert "Nothing is lost in 1 of 1 failure." in page.words
    assert set(figures(study((beside,)).numbers)) == set(figures(of.numbers))


@pytest.mark.parametrize("suffix", [".svg", ".pdf"])
def test_pictures_are_the_same_bytes_whenever_they_are_drawn(suffix: str) -> None:
    once, again = (
        {name: picture_bytes(each, suffix) for name, each in figures(study().numbers).items()} for _ in range(2)
    )
    assert once == again
    assert set(once) == {"loss-distribution", "loss-ranked", "loss-and-vacancy"}


def test_equal_vacancies_are_drawn_as_equal_numbers() -> None:
    """Schemes on one plan leave the same capacity vacant; on an axis of numbers they must not stand apart."""
    of = study()
    losses, vacancies = loss_and_vacancy(of.numbers).axes
    bars = [bar for bar in vacancies.patches if isinstance(bar, Rectangle)]
    assert [bar.get_height() for bar in bars] == [each.vacant for each in of.contenders]
    assert [label.get_text() for label in vacancies.get_xticklabels()] == [each.scheme.name for each in of.contenders]
    drawn = [list(np.atleast_1d(np.asarray(line.get_ydata()))) for line in losses.lines]
    assert [values[0] for values in drawn if len(values) == 1] == [
        compare(each, of.of(each)).lost for each in of.contenders
    ]
