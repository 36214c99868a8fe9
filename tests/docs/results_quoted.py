"""Finds numbers in the documentation and says whether they are those of the committed results.

Two ways of quoting are checked. A table below a comment `<!-- numbers: FOLDER EXHIBIT BACKEND [x SCALE]; ... -->` may
have only numbers of these exhibits, ours or published, rounded as they stand there. `[LABEL]` behind an exhibit means
one of its lines; `only: WORDS, WORDS` and `not: WORDS` choose rows by words in their first cells, and
`columns: 1-2` some of the columns behind these. A sentence is listed in `quotes.json` with the place of each number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from experiments.reporting.results_page import Results
from experiments.results.exhibit import Exhibit

_MARK = re.compile(r"<!-- numbers: ([^>]*?) -->\n+((?:\|[^\n]*\n)+)")
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?|\.\d+)(?![\w])")


@dataclass(frozen=True)
class Quoted:
    """A number in a table of the documentation, with the row that it is in."""

    text: str
    row: str


def tables_of(page: str) -> Iterator[tuple[str, list[Quoted]]]:
    """Yield the marks of a page's tables with the numbers in these tables, without headings and first columns."""
    for mark, table in _MARK.findall(page):
        sources, _, columns = " ".join(mark.split()).partition("; columns: ")
        first, last = map(int, (columns or "1-99").split("-"))
        sources, _, words = sources.partition("; only: ")
        sources, _, unwanted = sources.partition("; not: ")
        wanted, others = ([each.strip() for each in listed.split(",") if each] for listed in (words, unwanted))
        rows = [line.strip("|").split("|") for line in table.strip().split("\n")[2:]]
        yield (
            sources,
            [
                Quoted(text, cells[0].strip())
                for cells in rows
                if (not wanted or any(each in cells[0] for each in wanted))
                and not any(each in cells[0] for each in others)
                for text in _NUMBER.findall(" ".join(cells[first : last + 1]))
            ],
        )


def numbers_in(results: Results, sources: str) -> list[float]:
    """Return all numbers of the exhibits that a mark names: means, spreads, published numbers and checks."""
    found: list[float] = []
    for source in sources.split("; "):
        place, _, scale = source.partition(" x ")
        place, _, label = place.partition(" [")
        exhibit = results.exhibit(place)
        if label:
            exhibit = replace(exhibit, lines=(exhibit.line(label.removesuffix("]")),), checks=())
        factor = float(scale) if scale else 1.0
        found += [factor * value for value in _values(exhibit)]
    return found


def _values(exhibit: Exhibit) -> Iterator[float]:
    for line in exhibit.lines:
        for point in line.points:
            yield from _known((point.value, point.low, point.high, point.published, point.spread))
    for check in exhibit.checks:
        yield from _known((check.measured, check.published))


def _known(values: Iterable[float | None]) -> Iterator[float]:
    for value in values:
        if value is not None:
            yield value


def is_among(text: str, numbers: Iterable[float]) -> bool:
    """Return True if one of the numbers, rounded to as many digits as the text has, is the text."""
    plain = text.replace(",", "")
    half = 0.5 * 10.0 ** -len(plain.partition(".")[2])
    return any(abs(number - float(plain)) <= half * (1 + 1e-6) for number in numbers)


def sentence_of(quote: dict[str, Any], results: Results) -> str:
    """Return a sentence of `quotes.json` with its numbers filled in."""
    return str(quote["text"]).format(*(number_at(each, results) for each in quote["numbers"]))


def number_at(place: str, results: Results) -> str:
    """Return a number as text.

    `FOLDER EXHIBIT BACKEND | LINE | X | FORMAT` has our number at a place; `published` behind the backend has the
    paper's. For X, `highest` is the largest number of the line and `farthest` the largest deviation. For LINE, `check`
    is the check that is called X. Formats are Python's, after `N*` for a factor; `more` gives the per cent above 1, and
    `bare` leaves out the zero before the point.
    """
    source, label, x, form = place.split(" | ")
    exhibit = results.exhibit(source.removesuffix(" published"))
    if label == "check":
        found_check = next(check for check in exhibit.checks if check.name == x)
        value = found_check.published if source.endswith(" published") else found_check.measured
    elif x in {"highest", "farthest"}:
        points = exhibit.line(label).points
        found = [point.value if x == "highest" else point.deviation for point in points]
        value = max(each for each in found if each is not None)
    else:
        point = next(point for point in exhibit.line(label).points if f"{point.x}" == x)
        value = point.published if source.endswith(" published") else point.value
    assert value is not None, f"{place} has no number"
    return _formatted(value, form)


def _formatted(value: float, form: str) -> str:
    factor, _, rest = form.rpartition("*")
    value *= float(factor) if factor else 1.0
    if rest.startswith("more"):
        return f"{100 * (value - 1):{rest.removeprefix('more')}}"
    return f"{value:{rest.removeprefix('bare')}}".removeprefix("0" if rest.startswith("bare") else "")
