"""Makes the first table and the first paragraph of a report: missed bars, then differing numbers; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.exhibit_table import number, value_text

SAME_PART, SAME_UNITS = 0.1, 1.0
"""Tolerances for a number to match the published one: a tenth of it, or one unit (point, second, Mbit/s)."""

_MEASURED = "emulation"
_LISTED = 3
"""Most missed bars that are listed one by one; if there are more, their figures are listed."""


@dataclass(frozen=True)
class Finding:
    """A row of the first table; the texts are ready to be shown."""

    item: str
    published: str
    ours: str
    deviation: str
    verdict: str

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        return self.item, self.published, self.ours, self.deviation, self.verdict


HEADINGS = ("item", "published", "ours", "deviation", "verdict")


def findings_of(exhibits: Sequence[Exhibit]) -> list[Finding]:
    """Return missed bars, then for each line with published numbers where it differs, else bars that are met."""
    return [*_missed_bars(exhibits), *(finding for exhibit in exhibits for finding in _compared(exhibit))]


def _missed_bars(exhibits: Sequence[Exhibit]) -> Iterator[Finding]:
    for exhibit in exhibits:
        for check in exhibit.checks:
            if not check.passed:
                item = f"{_called(exhibit)}: {check.name}"
                yield Finding(item, f"bar: {check.bar}", f"{check.measured:.3g}", "", "bar missed")


def _compared(exhibit: Exhibit) -> Iterator[Finding]:
    compared = exhibit.largest_deviations()
    for line, farthest in compared:
        differing = _differing(line)
        point = differing[0] if differing else farthest
        at = point.x if isinstance(point.x, str) else f"{point.x:g}"
        yield Finding(
            f"{_called(exhibit)}: {line.label}, {at}",
            number(point.published),
            value_text(point),
            number(point.deviation),
            "differs" if differing else "matches",
        )
    if not compared:
        passed = sum(check.passed for check in exhibit.checks)
        bars = f"{passed} of {len(exhibit.checks)} bars" if exhibit.checks else "shown below"
        verdict = "" if not exhibit.checks else "bars met" if exhibit.passed else "bars missed"
        yield Finding(_called(exhibit), "-", bars, "", verdict)


def lead_of(exhibits: Sequence[Exhibit], caveats: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return whole sentences, the most important first; measured and computed numbers are kept apart.

    `caveats` has, by exhibit, a sentence that explains its deviations.
    """
    sentences = [*_bars(exhibits)]
    compared = [exhibit for exhibit in exhibits if exhibit.largest_deviations()]
    if not compared:
        return " ".join([*sentences, "There are no published numbers to hold these against."])
    differing = [exhibit for exhibit in compared if any(map(_differing, exhibit.lines))]
    if not differing:
        sentences.append("All numbers that the paper gives are matched: ours are within a tenth or one unit of each.")
        return " ".join(sentences)
    measured = [exhibit.reproduces for exhibit in differing if exhibit.backend == _MEASURED]
    computed = [_called(exhibit) for exhibit in differing if exhibit.backend != _MEASURED]
    if measured:
        sentences.append(f"Measured numbers are not the published ones in {_listed(measured)}.")
    if computed:
        sentences.append(f"Computed numbers are not the published ones in {_listed(computed)}.")
    sentences += dict.fromkeys(caveats[each.name] for each in differing if each.name in caveats)
    matching = [_called(exhibit) for exhibit in compared if exhibit not in differing]
    if matching:
        sentences.append(f"Numbers match where measured in {_listed(matching)}.")
    return " ".join(sentences)


def same_as_published(point: Point) -> bool:
    """Return True if our number of a point that has both matches the published one."""
    assert point.deviation is not None, "a point with both numbers"
    assert point.published is not None, "a point with both numbers"
    return abs(point.deviation) <= max(SAME_UNITS, SAME_PART * abs(point.published))


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
            yield f"{met}; missed are those of {_listed([each.reproduces for each in own if not each.passed])}."


def _differing(line: Line) -> list[Point]:
    """Return the differing point at the heaviest demand (over names: the most distant one), or no point."""
    points = [point for point in line.points if point.deviation is not None and not same_as_published(point)]
    if not points:
        return []
    return [max(points, key=lambda point: abs(point.deviation or 0) if isinstance(point.x, str) else point.x)]


def _called(exhibit: Exhibit) -> str:
    return f"{exhibit.reproduces} on {exhibit.backend}"


def _listed(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
