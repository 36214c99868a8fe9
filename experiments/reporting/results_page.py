"""Page of every published item with its verdict, made of committed results and of the list in `published_items.json`.

Items that nobody attempted are rows as well. The page has no number that is not in a result file or in the bars.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from experiments.reporting.report import report_of
from experiments.results.exhibit import Exhibit
from experiments.results.verdict import NOT_SHOWN, UNPUBLISHED, VERDICTS, Judgement, judgement_of
from kuijia_base.errors import InputError

_OPENING = """# Every published item and what is reproduced of it

Made by `kuijia report docs/results --items` from the result files in the folders below this one; a test compares the
two. A [bar](../experiments.md#bars-and-verdicts) on a size has a margin on both sides of the published number. If an
item has several results, the row has the worst verdict and the number that decides it. *Not shown* means that an order
or effect is not there, or that nothing is committed."""

_HEADINGS = ("item", "command", "backends", "verdict", "at", "published", "ours", "deviation", "open question, or why")
_RULE = ("---", "---", "---", "---", "---", "---:", "---:", "---:", "---")


@dataclass(frozen=True)
class Item:
    """A published table, figure or statement.

    Attributes:
        command: that measures it; empty if none does.
        backends: supported by the command.
        results: folder, name of an exhibit and backend of each committed result; empty without any.
        readings: the same of results under another reading of the paper than the command's default; they do not decide
            the verdict.
        question: what is open about it; empty if the bars' reasons say it.
    """

    paper: str
    item: str
    command: str = ""
    backends: str = ""
    results: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    question: str = ""


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
    return [
        Item(paper, **{**entry, **{key: tuple(entry.get(key, ())) for key in ("results", "readings")}})
        for paper, entries in json.loads(text).items()
        for entry in entries
    ]


def page_of(root: Path) -> str:
    """Return the page for the results in a folder, in Markdown.

    Raises:
        InputError: a result that an item names is not there.
    """
    results = Results(root)
    rows = [(item, *_judged(item, results), tuple(_under_readings(item, results))) for item in all_items()]
    parts = [_OPENING, _counted([(item, judgement) for item, judgement, *_ in rows])]
    for paper in dict.fromkeys(item.paper for item, *_ in rows):
        own = [_cells(*row) for row in rows if row[0].paper == paper]
        parts += [f"## {paper}", "\n".join(f"| {' | '.join(cells)} |" for cells in (_HEADINGS, _RULE, *own))]
    return "\n\n".join(parts) + "\n"


def _judged(item: Item, results: Results) -> tuple[Judgement, Exhibit | None]:
    """Return the worst judgement on the item's results, and the exhibit it is about."""
    if not item.results:
        return Judgement(NOT_SHOWN), None
    shown = [replace(each, published=each.published or item.paper) for each in map(results.exhibit, item.results)]
    found = [(judgement_of(exhibit), exhibit) for exhibit in shown]
    return min(found, key=lambda each: VERDICTS.index(each[0].verdict))


def _under_readings(item: Item, results: Results) -> Iterator[str]:
    """Yield the verdict on each result under another reading."""
    for place in item.readings:
        folder, _, backend = place.split(" ")
        found = judgement_of(results.exhibit(place))
        ours = f", {found.what}: {found.ours} instead of {found.published}" if found.published and found.ours else ""
        yield f"under another reading (`{folder}`, {backend}): {found.verdict}{ours}"


def _cells(item: Item, found: Judgement, exhibit: Exhibit | None, elsewhere: Sequence[str]) -> tuple[str, ...]:
    at = found.what
    if exhibit is not None and len(item.results) > 1:
        at = f"{exhibit.name} on {exhibit.backend}: {at}"
    why = "; ".join(each for each in (found.cause, item.question, *elsewhere) if each)
    command = f"`{item.command}`" if item.command else "none"
    verdict = found.verdict if found.verdict == "reproduced" else f"**{found.verdict}**"
    return item.item, command, item.backends, verdict, at, found.published, found.ours, found.deviation, why


def _counted(rows: Sequence[tuple[Item, Judgement]]) -> str:
    """Return a table of the verdicts on each paper's items."""
    shown = [verdict for verdict in VERDICTS if verdict != UNPUBLISHED]
    papers = dict.fromkeys(item.paper for item, _ in rows)
    counts: Mapping[str, Counter[str]] = {
        paper: Counter(found.verdict for item, found in rows if item.paper == paper) for paper in papers
    }
    without = Counter(item.paper for item, _ in rows if not item.results)
    lines: list[Sequence[str]] = [
        ("paper", "not shown", "of these without a result", *shown[1:]),
        ("---", *("---:" for _ in (*shown, without))),
    ]
    for paper in papers:
        lacking, *others = (str(counts[paper][verdict]) for verdict in shown)
        lines.append((paper, lacking, str(without[paper]), *others))
    lacking, *others = (str(sum(counts[paper][verdict] for paper in papers)) for verdict in shown)
    lines.append((f"all {len(rows)}", lacking, str(sum(without.values())), *others))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def places(items: Sequence[Item]) -> Iterator[str]:
    """Yield the place of every committed result that an item names."""
    for item in items:
        yield from (*item.results, *item.readings)
