"""Claims of a paper's abstract or talk as an exhibit, computed from the numbers of its figures; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from experiments.results.bars import limit, order
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.exhibit_table import heading
from experiments.results.result import Check

Pick = Literal["most", "least", "at least", "at most", "order"]

_RELATIONS: Mapping[str, Callable[[float, float], float]] = {
    "value": lambda ours, _: ours,
    "lower": lambda ours, base: 100 * (1 - ours / base),
    "higher": lambda ours, base: 100 * (ours / base - 1),
    "less": lambda ours, base: base - ours,
}
"""What a claim says of a number beside that of another scheme: itself, how much lower or higher it is in %, or the
difference of two losses."""


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


def as_published(claim: Claim, exhibit_at: Callable[[str], Exhibit]) -> float | None:
    """Return what the paper's own figures give for a claim; None if they have no numbers that can be read."""
    found = [theirs for *_, theirs in _values(claim, exhibit_at) if theirs is not None]
    return _extreme(claim)(found) if found else None


def _extreme(claim: Claim) -> Callable[[Sequence[float]], float]:
    return max if claim.pick in ("most", "at most") else min


def _picked(claim: Claim, exhibit_at: Callable[[str], Exhibit]) -> Point:
    found = {ours: (where, runs) for where, runs, ours, _ in _values(claim, exhibit_at)}
    if not found:
        raise ValueError(f"no result has the numbers of the claim: {claim.claim}")
    value = _extreme(claim)(tuple(found))
    where, runs = found[value]
    return Point(where, value, runs=runs, published=claim.published if claim.pick in ("most", "least") else None)


def _values(claim: Claim, exhibit_at: Callable[[str], Exhibit]) -> Iterator[tuple[str, int, float, float | None]]:
    """Yield each number that a claim is about: where it is, its runs, ours, and that of the paper's own figures."""
    relation = _RELATIONS[claim.relation]
    for exhibit in map(exhibit_at, claim.results):
        lines = {line.label: line for line in exhibit.lines}
        for point in lines[claim.line].points:
            for label in (claim.than or (claim.line,)) if not claim.at or point.x in claim.at else ():
                base = lines[label].at(point.x)
                if point.value is None or base.value is None:
                    continue
                known = point.published is not None and base.published is not None
                theirs = relation(point.published or 0.0, base.published or 0.0) if known else None
                than = f", than {label}" if claim.than else ""
                where = f"{heading(point.x)} in {exhibit.name} on {exhibit.backend}{than}"
                yield where, min(point.runs, base.runs), relation(point.value, base.value), theirs


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
