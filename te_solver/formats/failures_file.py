"""Reads lists of failures, and probabilities of links or failures, from CSV; errors name the line."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from kuijia_base.errors import InputError, UnsoundError, quoted, shown
from kuijia_base.quantities import counted, exact
from kuijia_base.reading import reading
from kuijia_base.text import Note, require_number, unheard
from te_solver.formats.csv_rows import csv_rows, header_error
from te_solver.model.failures import Failure, FailureProbabilities, from_links, from_names
from te_solver.model.topology import Topology

_HEADER = ("failure", "a", "b")
_EXPECTED = "failure,a,b"


def load_failures(path: Path, topology: Topology) -> tuple[Failure, ...]:
    """Return the failures in a CSV file, in the order in which the file first names them.

    The first line is the header `failure,a,b`. Every further line is a part of the failure that it names: the cable
    between `a` and `b` or, where `b` is empty, the node `a`. Lines of one name fail together, as the fibres in one
    duct do, wherever they stand. Empty lines and lines that start with `#` are left out, spaces around a cell do not
    count.

    Raises:
        InputError: anything else, unknown nodes and links and a part that its failure already has among it; its
            place is the line.
    """
    with reading(path, _EXPECTED):
        return _failures(path, topology)


def _failures(path: Path, topology: Topology) -> tuple[Failure, ...]:
    rows = csv_rows(path, "a list of failures", _EXPECTED)
    number, header = next(rows, (0, _HEADER))
    if header != _HEADER:
        raise header_error(path, number, header, _EXPECTED)
    parts: dict[str, dict[frozenset[str], Failure]] = {}
    for number, row in rows:
        part = _part(path, number, row, topology)
        known = parts.setdefault(part.name, {})
        ends = frozenset(part.nodes + sum(part.edges, ()))
        if ends in known:
            raise InputError(path, number, f"failure {shown(part.name)} has this part already", "each part once")
        known[ends] = part
    if not parts:
        raise InputError(path, "", "there is no failure", f"the header {_EXPECTED} and at least one line after it")
    return tuple(_together(name, tuple(known.values())) for name, known in parts.items())


def _part(path: Path, number: int, row: tuple[str, ...], topology: Topology) -> Failure:
    """Return the failure of one line's cable or node alone."""
    if len(row) != len(_HEADER):
        raise InputError(path, number, f"{len(row)} columns", f"{len(_HEADER)}, as in the header")
    name, a, b = row
    if not name or not name.isprintable():
        raise InputError(path, number, "the failure has no printable name", _EXPECTED)
    failure = Failure(name, edges=((a, b),)) if b else Failure(name, nodes=(a,))
    try:
        failure.require_part_of(topology)
    except UnsoundError as error:
        raise InputError(path, number, error.problem, error.expected) from error
    return failure


def _together(name: str, parts: tuple[Failure, ...]) -> Failure:
    return Failure(
        name,
        edges=tuple(edge for part in parts for edge in part.edges),
        nodes=tuple(node for part in parts for node in part.nodes),
    )


_LINKS = ("a", "b", "probability")
_NAMES = ("failure", "probability")
_LINKS_EXPECTED = "a,b,probability"
_PROBABILITIES = f"{_LINKS_EXPECTED} or failure,probability"

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
    with reading(path, _PROBABILITIES):
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
    header, lines = _lines(path, topology, (_LINKS, _NAMES), _PROBABILITIES)
    if header == _NAMES:
        return _of_names(path, failures, {name: line for (name,), line in lines.items()})
    try:
        return from_links(topology, failures, _of_links(lines, topology, note))
    except UnsoundError as error:
        raise InputError(path, "", error.problem, error.expected) from error


def _of_links(lines: Mapping[Key, Line], topology: Topology, note: Note) -> dict[frozenset[str], float]:
    missing = len({frozenset(edge) for edge in topology.edges} - set(map(frozenset, lines)))
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
    if not topology.has_cable(a, b):
        problem = f"there is no link between {quoted(a)} and {quoted(b)}"
        raise InputError(path, number, problem, f"a link of {topology.name}")
    return tuple(sorted(ends))


def _probability(path: Path, number: int, text: str) -> float:
    share = require_number(text, path, number, "probability", _PROBABILITY)
    if not 0 <= share < 1:
        raise InputError(path, number, f"probability {exact(share)}", _PROBABILITY)
    return share
