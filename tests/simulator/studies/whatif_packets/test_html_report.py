"""The page of a study packet by packet: valid HTML, every name as it is, failures beyond the longest list counted."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any, cast

from simulator.flow_sizes.published import FlowSizes
from simulator.studies.whatif_packets.findings import FailureCounts, PacketStudy, StudyFindings
from simulator.studies.whatif_packets.html_report import LISTED, answer, html_report
from simulator.studies.whatif_packets.run import ABORIGINAL, ROLES, VICTIM, Conditions, Play

VOID = {"meta", "img"}
NAME = 'a<b>&"c'
WITHOUT = "delivered_bytes_without_failure"
NOTHING = "No failure costs anything, under any scheme."


class Nesting(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append(0)
        if tag in {"td", "th"}:
            self.rows[-1] += int(dict(attrs).get("colspan") or 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def outcome(number: int) -> FailureCounts:
    counts: dict[str, Any] = {"sent_packets": 100, "dropped_packets": 1, "completion": {"small": None, "large": None}}
    counts |= {"sent_packets_without_failure": 100, "dropped_packets_without_failure": 0}
    arrived = {"delivered_bytes": 900 - number, "delivered_bytes_without_failure": 1000}
    return FailureCounts(f"{NAME}{number}", {ABORIGINAL: {**counts, **arrived}, VICTIM: {**counts, **arrived}})


def page(failures: int) -> str:
    found = StudyFindings({"kuijia": [outcome(number) for number in range(failures)], NAME: [outcome(1)] * failures})
    plan = SimpleNamespace(topology=SimpleNamespace(name=NAME), pairs=[None])
    traffic = SimpleNamespace(count=7, payload=1000)
    play = SimpleNamespace(plan=plan, traffic=traffic, controller=NAME, controller_delays={NAME: 0.001})
    how = Conditions(FlowSizes.of_one(1000))
    study = PacketStudy.of(how, "1000", cast("Play", play), found)
    return html_report(replace(study, assumptions=(f"a {NAME}",)), f"kuijia whatif {NAME}")


def test_the_page_is_nested_well_and_its_tables_are_rectangles() -> None:
    for failures in (1, LISTED + 3):
        parser = Nesting()
        parser.feed(page(failures))
        assert parser.open == []
        assert set(parser.rows) == {2, 4, 8}


def test_names_are_escaped_and_long_lists_end() -> None:
    text = page(LISTED + 3)
    assert NAME not in text
    assert text.count("3 failures more are in whatif-packets.json.") == 2


def test_the_page_opens_with_who_misses_what_has_a_dark_look_and_sorts() -> None:
    text = page(3)
    named = unescape(text)
    assert f"<b>If {NAME}2 fails, victims lose 10.20% and others 10.20% under kuijia.</b>" in named
    calm = FailureCounts("calm", {role: {"delivered_bytes": 9, WITHOUT: 9} for role in ROLES})
    hurt = FailureCounts(
        "hurt", {ABORIGINAL: {"delivered_bytes": 9, WITHOUT: 8}, VICTIM: {"delivered_bytes": 1, WITHOUT: 8}}
    )
    assert answer(StudyFindings({"kuijia": [calm], "rescaling": [calm]})) == NOTHING
    assert answer(StudyFindings({"kuijia": [calm, hurt], "rescaling": [calm, replace(calm, failure="hurt")]})) == (
        "If hurt fails, victims lose 87.50% and nobody else anything under kuijia; "
        "nobody loses anything under rescaling."
    )
    assert "@media screen and (prefers-color-scheme: dark)" in text
    assert text.count('<table class="sortable">') == 2
    assert text.count("<script>") == 1
