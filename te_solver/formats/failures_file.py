"""Reads a list of failures from CSV; errors name the line."""

from __future__ import annotations

from pathlib import Path

from kuijia_base.errors import InputError, UnsoundError, shown
from kuijia_base.reading import reading
from te_solver.formats.csv_rows import csv_rows, header_error
from te_solver.model.failures import Failure
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
