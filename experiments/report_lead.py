"""Writes the first paragraph of a report: missed bars, then numbers that differ from the published ones; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiments.exhibit import Exhibit, Line, Point, number, value_text

SAME_PART, SAME_UNITS = 0.1, 1.0
"""Tolerances for a number to match the published one: a tenth of it, or one unit (point, second, Mbit/s)."""

_MEASURED = "emulation"
_READ = ("fig10", "fig11", "fig12", "fig13")
"""Figures whose numbers depend on choices that the paper does not state."""

_LISTED = 3
"""Most missed bars that are listed one by one; if there are more, their figures are listed."""


def lead_of(exhibits: Sequence[Exhibit]) -> str:
    """Return whole sentences, the most important first; measured and computed numbers are kept apart."""
    sentences = [*_bars(exhibits)]
    compared = [exhibit for exhibit in exhibits if exhibit.largest_deviations()]
    if not compared:
        return " ".join([*sentences, "There are no published numbers to hold these against."])
    apart = [(exhibit, _apart(exhibit)) for exhibit in compared]
    if not any(words for _, words in apart):
        sentences.append("All numbers that the paper gives are matched: ours are within a tenth or one unit of each.")
        return " ".join(sentences)
    differing = [(exhibit, words) for exhibit, words in apart if words]
    measured = [(exhibit.reproduces, words) for exhibit, words in differing if exhibit.backend == _MEASURED]
    computed = [_called(exhibit) for exhibit, _ in differing if exhibit.backend != _MEASURED]
    if measured:
        names = _listed([name for name, _ in measured])
        sentences.append(f"Measured numbers are not the published ones in {names}.")
        sentences.append("At the heaviest demand where they differ:")
        sentences += [f"{name} has {words}." for name, words in measured]
    if computed:
        sentences.append(f"Computed numbers are not the published ones in {_listed(computed)}.")
    if any(exhibit.name in _READ for exhibit, _ in differing):
        sentences.append(
            "Losses hang on which pairs are drawn, which of the best plans is taken and what is averaged, of which the"
            " paper says little: docs/gscale.md has what each makes of the difference."
        )
    matching = [_called(exhibit) for exhibit, words in apart if not words]
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


def _apart(exhibit: Exhibit) -> str:
    """Return the lines that differ from the published ones, each by one point, in words; empty when all match."""
    return ", ".join(
        f"{line.label} {value_text(point)} instead of {number(point.published)} at {point.x}"
        for line in exhibit.lines
        for point in _differing(line)
    )


def _differing(line: Line) -> list[Point]:
    """Return the differing point at the heaviest demand (over names: the most distant one), or no point."""
    points = [point for point in line.points if point.deviation is not None and not same_as_published(point)]
    if not points:
        return []
    return [max(points, key=lambda point: abs(point.deviation or 0) if isinstance(point.x, str) else point.x)]


def _called(exhibit: Exhibit) -> str:
    return f"{exhibit.reproduces} on {exhibit.backend}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
