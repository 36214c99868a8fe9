"""Makes the first table and the first paragraph of a report: verdicts, what differs before what does not; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from experiments.reporting.verdict import (
    DIFFERS,
    NEAR,
    NOISE,
    NOT_MEASURED,
    NOT_SHOWN,
    REPRODUCED,
    UNPUBLISHED,
    VERDICTS,
    Judgement,
    Verdict,
    judgement_of,
)
from experiments.results.exhibit import Exhibit
from experiments.results.score import Score

_MEASURED = "emulation"
_COUNT = re.compile(r" \(\d+ of \d+ [a-z ]+\)$")
"""Number of bars or points that miss too, behind the name of the one that decides."""

_LISTED = 3
"""Most missed bars that are listed one by one; if there are more, their figures are listed."""


@dataclass(frozen=True)
class Finding:
    """A row of the first table."""

    item: str
    found: Judgement

    @property
    def cells(self) -> tuple[str, ...]:
        """The texts, ready to be shown."""
        found = self.found
        number = found.what, found.published, found.ours, found.deviation
        return self.item, found.verdict, *scored(found.margin, found.score), *number, found.cause


SCORED = ("within margin", "margin", "mean error", "runs", "spread")
HEADINGS = ("item", "verdict", *SCORED, "at", "published", "ours", "deviation", "why")
NUMBERS = frozenset({2, 4, 5, 6, 8, 9, 10})
"""Columns that hold numbers."""


def scored(margin: str, score: Score) -> tuple[str, ...]:
    """Return the cells of `SCORED`."""
    return score.counted, margin, score.error, score.runs, score.spread


def findings_of(exhibits: Sequence[Exhibit]) -> list[Finding]:
    """Return a row for each exhibit, with the number that decides its verdict; the worst verdicts come first."""
    rows = [_finding(exhibit, judgement_of(exhibit), exhibits) for exhibit in exhibits]
    return sorted(rows, key=lambda row: VERDICTS.index(row.found.verdict))


def _finding(exhibit: Exhibit, found: Judgement, exhibits: Sequence[Exhibit]) -> Finding:
    shared = sum((each.reproduces, each.backend) == (exhibit.reproduces, exhibit.backend) for each in exhibits) > 1
    item = f"{called(exhibit)} ({exhibit.name})" if shared else called(exhibit)
    return Finding(item, found)


def lead_of(exhibits: Sequence[Exhibit], caveats: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return whole sentences, the most important first; measured and computed numbers are kept apart.

    `caveats` has, by exhibit, a sentence that explains its deviations.
    """
    found = [(exhibit, judgement_of(exhibit)) for exhibit in exhibits]
    compared = [(exhibit, each) for exhibit, each in found if each.verdict is not UNPUBLISHED]
    if not compared:
        return "There are no published numbers to hold these against."
    sentences = []
    words_of: dict[Verdict, str] = {
        NOT_SHOWN: "Order not shown",
        NOT_MEASURED: "Not measured",
        DIFFERS: "Differ",
        NEAR: "Within twice the margin",
    }
    for verdict, words in words_of.items():
        own = [(exhibit, each) for exhibit, each in compared if each.verdict is verdict]
        if own:
            sentences.append(f"{words}: {'; '.join(dict.fromkeys(_told(*each, exhibits) for each in own))}.")
    differing = [exhibit for exhibit, each in compared if each.verdict not in (NOISE, REPRODUCED)]
    sentences += dict.fromkeys(caveats[each.name] for each in differing if each.name in caveats)
    for verdict, words in ((NOISE, "Within noise"), (REPRODUCED, "Reproduced")):
        good = [called(exhibit) for exhibit, each in compared if each.verdict is verdict]
        if good:
            sentences.append(f"{words}: {_listed(good)}.")
    return " ".join([*sentences, *_bars(exhibits)])


def called(exhibit: Exhibit) -> str:
    """Return the paper's name for an exhibit, and the backend."""
    return f"{exhibit.reproduces} on {exhibit.backend}"


def _told(exhibit: Exhibit, found: Judgement, exhibits: Sequence[Exhibit]) -> str:
    """Return what differs, without its number if the same was measured as well."""
    measured = any((each.reproduces, each.backend) == (exhibit.reproduces, _MEASURED) for each in exhibits)
    if exhibit.backend != _MEASURED and measured:
        return called(exhibit)
    what = _COUNT.sub("", found.what)
    if not found.ours:
        return called(exhibit)
    beside = " instead of" if found.deviation else ", expected"
    return f"{called(exhibit)} ({what} is {found.ours}{beside} {found.published})"


def _bars(exhibits: Sequence[Exhibit]) -> Iterator[str]:
    """Yield a sentence on the bars of measured runs, then one for each other backend."""
    by_backend: dict[str, list[Exhibit]] = {}
    for exhibit in sorted(exhibits, key=lambda exhibit: exhibit.backend != _MEASURED):
        if exhibit.checks:
            by_backend.setdefault(exhibit.backend, []).append(exhibit)
    for backend, own in by_backend.items():
        total = sum(len(exhibit.checks) for exhibit in own)
        what = {_MEASURED: "measured runs", "flow": "the model"}.get(backend, backend)
        words = [each for exhibit in own for each in exhibit.missed()]
        met = f"Bars for {what}: {total - len(words)} of {total} are met"
        if not words:
            yield f"{met}."
        elif len(words) <= _LISTED:
            yield f"{met}; missed: {'; '.join(words)}."
        else:
            yield f"{met}; missed are some of {_listed([each.reproduces for each in own if not each.passed])}."


def _listed(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
