"""Page of every published item with its verdict, made of committed results and of the list in `published_items.json`.

Items that nobody attempted are rows as well. The page has no number that is not in a result file or in the bars.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from experiments.reporting.report import SCORED, report_of, scored
from experiments.reporting.verdict import (
    DIFFERS,
    NOISE,
    NOT_MEASURED,
    NOT_SHOWN,
    REPRODUCED,
    UNDECIDABLE,
    UNPUBLISHED,
    VERDICTS,
    Judgement,
    Verdict,
    judgement_of,
)
from experiments.results.exhibit import Exhibit, Line, Point, heading
from experiments.results.result import Check
from experiments.results.score import Score, limit, order
from kuijia_base.errors import InputError

Pick = Literal["most", "least", "at least", "at most", "order"]

_RELATIONS: Mapping[str, Callable[[float, float], float]] = {
    "value": lambda ours, _: ours,
    "lower": lambda ours, base: 100 * (1 - ours / base),
    "higher": lambda ours, base: 100 * (ours / base - 1),
    "less": lambda ours, base: base - ours,
}
"""Forms in which a claim compares a number with that of another scheme: as it is, by how many % it is lower or higher,
or as the difference of two losses."""


_ABOVE_ZERO = 1e-6
"""Least number of an order: equal is no better."""


@dataclass(frozen=True)
class Claim:
    """A sentence of an abstract about numbers of committed results.

    Attributes:
        claim: in words, with the unit.
        relation: of the numbers of `line` to those of each line in `than`, or `value` for the numbers themselves.
        results: places of the exhibits that have both.
        line: scheme that the claim is about.
        than: lines of the other schemes; without any the number itself counts.
        at: positions that count; all if empty.
        pick: number that is held against the published one. `most` ("up to") and `least`, the ends of a range, are
            sizes like all published numbers. Of bounds that the paper prints, `at least` ("over") is about the least,
            `at most` ("within") about the most. An `order` is about the least, which has to be above 0.
        published: number in the claim; None for an order.
    """

    claim: str
    relation: str
    results: tuple[str, ...]
    line: str
    pick: Pick
    than: tuple[str, ...] = ()
    at: tuple[float | str, ...] = ()
    published: float | None = None


def headline_of(paper: str, claims: Sequence[Claim], exhibit_at: Callable[[str], Exhibit]) -> Exhibit:
    """Return the exhibit of a paper's claims; raises ValueError if no result has the numbers for one."""
    picked = [(claim, _picked(claim, exhibit_at)) for claim in claims]
    lines = tuple(Line(each.claim, (point,)) for each, point in picked)
    checks = tuple(check for each, point in picked for check in _checks(each, point))
    return Exhibit(
        "headline", "claims of the abstract", "headline", "all", "where", "as each line says", lines, paper, checks
    )


def _picked(claim: Claim, exhibit_at: Callable[[str], Exhibit]) -> Point:
    found = {ours: (where, runs) for where, runs, ours in _values(claim, exhibit_at)}
    if not found:
        raise ValueError(f"no result has the numbers of the claim: {claim.claim}")
    value = (max if claim.pick in ("most", "at most") else min)(found)
    where, runs = found[value]
    return Point(where, value, runs=runs, published=claim.published if claim.pick in ("most", "least") else None)


def _values(claim: Claim, exhibit_at: Callable[[str], Exhibit]) -> Iterator[tuple[str, int, float]]:
    """Yield each number that a claim is about: where it is, its runs, and the number."""
    relation = _RELATIONS[claim.relation]
    for exhibit in map(exhibit_at, claim.results):
        lines = {line.label: line for line in exhibit.lines}
        for point in lines[claim.line].points:
            for label in (claim.than or (claim.line,)) if not claim.at or point.x in claim.at else ():
                base = lines[label].at(point.x)
                if point.value is None or base.value is None:
                    continue
                than = f", than {label}" if claim.than else ""
                where = f"{heading(point.x)} in {exhibit.name} on {exhibit.backend}{than}"
                yield where, min(point.runs, base.runs), relation(point.value, base.value)


def _checks(claim: Claim, point: Point) -> Iterator[Check]:
    assert point.value is not None, "a claim has a number of ours"
    name = f"{claim.claim} at {point.x}"
    if claim.pick == "at least":
        # Who is better by more than a bound is better in the first place.
        yield order(name, point.value, low=_ABOVE_ZERO)
        yield limit(name, point.value, low=claim.published)
    if claim.pick == "at most":
        yield limit(name, point.value, high=claim.published)
    if claim.pick == "order":
        yield order(name, point.value, low=_ABOVE_ZERO)


_OPENING = """# Every published item and what is reproduced of it

Made by `kuijia report docs/results --items` from the result files in the folders below this one; a test compares the
two. One [rule](../experiments.md#bars-and-verdicts) judges every published number: *within margin* counts those that
are within 20 % of the published ones, or within the stated floor of noise, of all that are published; *mean error* is
their mean relative distance, *runs* the number of runs or seeds behind each, *spread* half the distance between the
lowest and the highest of them, both without numbers as small as noise. A row has the worst verdict of its results and
the number that decides it, so that one of a hundred numbers can make it differ."""

_HEADINGS = (
    *("item", "command", "backends", "verdict", *SCORED),
    *("at", "published", "ours", "deviation", "open question, or why"),
)
_RULE = tuple(
    "---:" if heading in ("within margin", "mean error", "runs", "spread", "published", "ours", "deviation") else "---"
    for heading in _HEADINGS
)


@dataclass(frozen=True)
class Item:
    """A published table, figure or statement.

    Attributes:
        command: that measures it; empty if none does.
        backends: supported by the command.
        results: folder, name of an exhibit and backend of each committed result; empty without any.
        readings: the same of results under another reading of the paper than the command's default; they do not decide
            the verdict.
        claims: of an abstract, which are judged by numbers of other items' results.
        question: what is open about it; empty if the bars' reasons say it.
        decided_by: what would decide an item that cannot be decided from what is published; empty if it can.
        memory: True if its published numbers are known from memory only.
    """

    paper: str
    item: str
    command: str = ""
    backends: str = ""
    results: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    question: str = ""
    decided_by: str = ""
    memory: bool = False


class Results:
    """Exhibits of the folders with committed results, each folder read once.

    Raises:
        InputError: a folder or its exhibit is not there.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: dict[str, dict[tuple[str, str], Exhibit]] = {}

    def exhibit(self, place: str) -> Exhibit:
        """Return the exhibit at a place: `FOLDER NAME BACKEND`."""
        folder, name, backend = place.split(" ", 2)
        if folder not in self._read:
            found = report_of(self._root / folder).exhibits
            self._read[folder] = {(each.name, each.backend): each for each in found}
        exhibit = self._read[folder].get((name, backend))
        if exhibit is None:
            raise InputError(self._root / folder, "", f"has no {name} on {backend}", "all results that items name")
        return exhibit


def all_items() -> list[Item]:
    """Return the list of all items in `published_items.json`, in the order of the papers."""
    text = files("experiments.reporting").joinpath("published_items.json").read_text(encoding="utf-8")
    return [_item(paper, entry) for paper, entries in json.loads(text).items() for entry in entries]


def _item(paper: str, entry: Mapping[str, Any]) -> Item:
    lists = {key: tuple(entry.get(key, ())) for key in ("results", "readings")}
    return Item(paper, **{**entry, **lists, "claims": tuple(map(_claim, entry.get("claims", ())))})


def _claim(entry: Mapping[str, Any]) -> Claim:
    fields: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in entry.items()}
    return Claim(**fields)


def page_of(root: Path) -> str:
    """Return the page for the results in a folder, in Markdown.

    Raises:
        InputError: a result that an item names is not there.
    """
    results = Results(root)
    rows = [_row(item, results) for item in all_items()]
    parts = [_OPENING, _counted(rows)]
    for paper in _papers(rows):
        own = [row.cells for row in rows if row.item.paper == paper]
        parts += [f"## {paper}", "\n".join(f"| {' | '.join(cells)} |" for cells in (_HEADINGS, _RULE, *own))]
    return "\n\n".join(parts) + "\n"


@dataclass(frozen=True)
class _Row:
    """A row of the page: an item, the worst judgement on its results and the exhibit that it is about."""

    item: Item
    found: Judgement
    exhibit: Exhibit | None
    score: Score
    elsewhere: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """The verdict on the item: what is not decidable from what is published differs for no reason of ours."""
        return (
            UNDECIDABLE if self.item.decided_by and self.found.verdict in (NOT_SHOWN, DIFFERS) else self.found.verdict
        )

    @property
    def cells(self) -> tuple[str, ...]:
        item, found, at = self.item, self.found, self.found.what
        if self.exhibit is not None and len(item.results) > 1:
            at = f"{self.exhibit.name} on {self.exhibit.backend}: {at}"
        undecided = (
            f"as run: {found.verdict}; would decide it: {item.decided_by}" if self.verdict == UNDECIDABLE else ""
        )
        memory = "the published numbers are from memory" if item.memory else ""
        why = "; ".join(each for each in (undecided, found.cause, item.question, memory, *self.elsewhere) if each)
        command = f"`{item.command}`" if item.command else "none"
        verdict = self.verdict if self.verdict in (REPRODUCED, NOISE) else f"**{self.verdict}**"
        numbers = at, found.published, found.ours, found.deviation
        return item.item, command, item.backends, verdict, *scored(found.margin, self.score), *numbers, why


def _row(item: Item, results: Results) -> _Row:
    shown = [replace(each, published=each.published or item.paper) for each in map(results.exhibit, item.results)]
    if item.claims:
        shown.append(headline_of(item.paper, item.claims, results.exhibit))
    found = [(judgement_of(exhibit), exhibit) for exhibit in shown]
    score = Score(tuple(chain.from_iterable(each.score.numbers for each, _ in found)))
    worst: tuple[Judgement, Exhibit | None] = min(
        found, key=lambda each: _badness(each[0]), default=(Judgement(NOT_MEASURED), None)
    )
    return _Row(item, *worst, score, tuple(_under_readings(item, results)))


def _badness(found: Judgement) -> tuple[int, float]:
    """Return a sort key, the least for the worst verdict, and of equal ones for that with the farthest number."""
    worst = found.score.worst
    return VERDICTS.index(found.verdict), -(worst.excess if worst is not None else 0.0)


def _under_readings(item: Item, results: Results) -> Iterator[str]:
    """Yield the verdict on each result under another reading."""
    for place in item.readings:
        folder, _, backend = place.split(" ")
        found = judgement_of(results.exhibit(place))
        within = f", {found.score.counted} within margin" if found.score.numbers else ""
        ours = f", {found.what}: {found.ours} instead of {found.published}" if found.published and found.ours else ""
        yield f"under another reading (`{folder}`, {backend}): {found.verdict}{within}{ours}"


def _counted(rows: Sequence[_Row]) -> str:
    """Return a table of the verdicts on each paper's items, and of the numbers within their margins."""
    shown = [verdict for verdict in reversed(VERDICTS) if verdict != UNPUBLISHED]
    lines: list[Sequence[str]] = [
        ("paper", "numbers within margin", *shown),
        ("---", *("---:" for _ in (*shown, "numbers"))),
        *(_counts(paper, [row for row in rows if row.item.paper == paper], shown) for paper in _papers(rows)),
        _counts(f"all {len(rows)}", rows, shown),
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _counts(name: str, rows: Sequence[_Row], shown: Sequence[Verdict]) -> tuple[str, ...]:
    score = Score(tuple(chain.from_iterable(row.score.numbers for row in rows)))
    verdicts = Counter(row.verdict for row in rows)
    return name, score.counted, *(str(verdicts[verdict]) for verdict in shown)


def _papers(rows: Sequence[_Row]) -> Iterable[str]:
    return dict.fromkeys(row.item.paper for row in rows)


def places(items: Sequence[Item]) -> Iterator[str]:
    """Yield the place of every committed result that an item names."""
    for item in items:
        yield from (*item.results, *item.readings)
