"""Numbers in the documentation are those of the committed results; README's Results quote nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from experiments.reporting.results_page import Results
from tests.docs.results_quoted import Quoted, is_among, number_at, numbers_in, sentence_of, tables_of

ROOT = Path(__file__).parents[2]
RESULTS = Results(ROOT / "docs" / "results")
QUOTES: dict[str, Any] = json.loads((Path(__file__).parent / "quotes.json").read_text(encoding="utf-8"))

MARKED = [
    (page.name, sources, quoted)
    for page in sorted((ROOT / "docs").glob("*.md"))
    for sources, quoted in tables_of(page.read_text(encoding="utf-8"))
]


_VERDICTS = r"(\d+) \| " * 7
_ROW_OF_README = re.compile(rf"\| \[(\w+)\]\([^)]*\) \| (\d+) \| (\d+) \| {_VERDICTS}")
_ROW_OF_RESULTS = re.compile(rf"\| (\w+) \| (\d+) of (\d+) \| {_VERDICTS}")


def words_of(page: str) -> str:
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(("page", "sources", "quoted"), MARKED, ids=[f"{page}: {each}" for page, each, _ in MARKED])
def test_a_marked_table_has_numbers_of_its_results_alone(page: str, sources: str, quoted: list[Quoted]) -> None:
    numbers = numbers_in(RESULTS, sources)
    assert quoted
    assert [each for each in quoted if not is_among(each.text, numbers)] == [], page


@pytest.mark.parametrize("quote", QUOTES["sentences"], ids=lambda quote: quote["text"][:40])
def test_a_sentence_has_the_numbers_of_its_results(quote: dict[str, Any]) -> None:
    assert sentence_of(quote, RESULTS) in words_of(quote["page"])


def test_all_numbers_in_the_results_of_the_readme_are_looked_up_or_known_not_to_be_results() -> None:
    section = words_of("README.md").partition("## Results ")[2].partition(" ## ")[0]
    left = re.sub(r"\(docs/[^)]*\)", "", _ROW_OF_README.sub("", section))
    for quote in QUOTES["sentences"]:
        left = left.replace(sentence_of(quote, RESULTS), "")
    known = [number for numbers in QUOTES["known"].values() for number in numbers]
    assert sorted(re.findall(r"\d*\.?\d+", left)) == sorted(known)


def test_the_readme_counts_verdicts_as_the_page_of_results_does() -> None:
    rows = _ROW_OF_RESULTS.findall(words_of("docs/results/README.md"))
    of_results = {paper: tuple(counts) for paper, *counts in rows}
    assert len(of_results) == 6
    assert {paper: tuple(counts) for paper, *counts in _ROW_OF_README.findall(words_of("README.md"))} == of_results


def test_a_number_that_is_not_in_the_result_is_found() -> None:
    page = (
        "<!-- numbers: tables fig8 tables; only: one -->\n\n| | 1 |\n|---|---|\n| one table | 36, 73 |\n| two | 5 |\n"
    )
    ((sources, quoted),) = tables_of(page)
    assert [each.text for each in quoted] == ["36", "73"]
    numbers = numbers_in(RESULTS, sources)
    assert [is_among(each.text, numbers) for each in quoted] == [True, False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0.35", True), (".35", True), ("0.346", True), ("0.347", False), ("0.3", True), ("0", True), ("1,234.6", True)],
)
def test_a_number_is_compared_as_it_is_rounded(text: str, expected: bool) -> None:  # noqa: FBT001
    assert is_among(text, [0.346, 1234.56]) is expected


def test_a_place_names_one_number() -> None:
    assert number_at("tables fields tables | one table | fields | ,.0f", RESULTS) == "2,150"
    assert number_at("tables fields tables published | one table | fields | .0f", RESULTS) == "2552"
    assert number_at("tables fields tables | check | part saved | bare.2f", RESULTS) == ".71"
