"""Reads the probabilities of links or of whole failures from CSV; errors name the line."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from kuijia_base.errors import InputError, UnsoundError, quoted, shown
from kuijia_base.quantities import counted, exact
from kuijia_base.reading import reading
from kuijia_base.text import Note, require_number, unheard
from te_solver.formats.csv_rows import csv_rows, header_error
from te_solver.model.failure_probabilities import FailureProbabilities, from_links, from_names
from te_solver.model.failures import Failure
from te_solver.model.topology import Topology

_LINKS = ("a", "b", "probability")
_NAMES = ("failure", "probability")
_LINKS_EXPECTED = "a,b,probability"
_EXPECTED = f"{_LINKS_EXPECTED} or failure,probability"

Key = tuple[str, ...]
"""A header, or what a line is for: the nodes of a cable, or the name of a failure."""

Line = tuple[int, float]
"""The number of a line, and its probability."""

_PROBABILITY = "a probability, at least 0 and below 1"
_MOST = 1 + 1e-9
"""Maximum sum of the probabilities of failures: one, and rounding."""


def load_probabilities(
    path: Path, topology: Topology, failures: Sequence[Failure], note: Note = unheard
) -> FailureProbabilities:
    """Return the probabilities of the failures in a CSV file.

    With the header `a,b,probability` a line says how likely the cable between `a` and `b` is down, independently of
    all others; cables without a line never fail, which is noted. With the header `failure,probability` it says how
    likely exactly that failure is, by its name; those without a line never happen, and nothing fails with the
    probability that is left. Empty lines and lines that start with `#` are left out.

    Raises:
        InputError: anything else; its place is the line.
    """
    with reading(path, _EXPECTED):
        return _probabilities(path, topology, failures, note)


def load_down(path: Path, topology: Topology, note: Note = unheard) -> dict[frozenset[str], float]:
    """Return the probabilities that cables are down, by their nodes, from a CSV file with the header `a,b,probability`.

    Raises:
        InputError: anything else; its place is the line.
    """
    with reading(path, _LINKS_EXPECTED):
        _, lines = _lines(path, topology, (_LINKS,), _LINKS_EXPECTED)
        return _of_links(lines, topology, note)


def _probabilities(path: Path, topology: Topology, failures: Sequence[Failure], note: Note) -> FailureProbabilities:
    header, lines = _lines(path, topology, (_LINKS, _NAMES), _EXPECTED)
    if header == _NAMES:
        return _of_names(path, failures, {name: line for (name,), line in lines.items()})
    try:
        return from_links(topology, failures, _of_links(lines, topology, note))
    except UnsoundError as error:
        raise InputError(path, "", error.problem, error.expected) from error


def _of_links(lines: Mapping[Key, Line], topology: Topology, note: Note) -> dict[frozenset[str], float]:
    missing = len(topology.edges) - len(lines)
    if missing:
        note(f"{counted(missing, 'link has', 'links have')} no probability: they never fail")
    return {frozenset(ends): share for ends, (_, share) in lines.items()}


def _lines(path: Path, topology: Topology, headers: Collection[Key], expected: str) -> tuple[Key, dict[Key, Line]]:
    """Return the header, and the number and probability of each line by what it is for."""
    rows = csv_rows(path, "a list of probabilities", expected)
    number, header = next(rows, (0, ()))
    if header not in headers:
        raise header_error(path, number, header, expected)
    lines: dict[Key, Line] = {}
    for number, row in rows:
        if len(row) != len(header):
            raise InputError(path, number, f"{len(row)} columns", f"{len(header)}, as in the header")
        *key, text = row
        what = _cable(path, number, key, topology) if header == _LINKS else tuple(key)
        if what in lines:
            raise InputError(
                path, number, f"{shown('-'.join(key))} has a probability in line {lines[what][0]}", "one line each"
            )
        lines[what] = number, _probability(path, number, text)
    if not lines:
        raise InputError(path, "", "there is no probability", f"the header {expected} and at least one line after it")
    return header, lines


def _of_names(path: Path, failures: Sequence[Failure], lines: dict[str, tuple[int, float]]) -> FailureProbabilities:
    total = sum(share for _, share in lines.values())
    if total > _MOST:
        raise InputError(path, "", f"the probabilities add up to {exact(total)}", "at most 1")
    try:
        named = {name: share for name, (_, share) in lines.items()}
        return from_names(failures, named, none=max(0.0, 1 - total))
    except UnsoundError as error:
        number, _ = lines[str(error.where[0])]
        raise InputError(path, number, error.problem, error.expected) from error


def _cable(path: Path, number: int, ends: Sequence[str], topology: Topology) -> tuple[str, ...]:
    a, b = ends
    if not (topology.has_link(a, b) or topology.has_link(b, a)):
        problem = f"there is no link between {quoted(a)} and {quoted(b)}"
        raise InputError(path, number, problem, f"a link of {topology.name}")
    return tuple(sorted(ends))


def _probability(path: Path, number: int, text: str) -> float:
    share = require_number(text, path, number, "probability", _PROBABILITY)
    if not 0 <= share < 1:
        raise InputError(path, number, f"probability {exact(share)}", _PROBABILITY)
    return share
