"""Reads capacities and demands of Flexile's `.tab` files (Jiang et al., CoNEXT 2022)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.quantities import counted
from kuijia_base.text import Note, parse_whole, read_lines, require_number
from te_solver.formats.draft import MOST_NODES, DemandSum, NetworkDraft, RateUnit, finder_of_nodes
from te_solver.model.demands import Demand
from te_solver.model.topology import MOST_LINKS, POSITIVE_RATE, Topology

_UNIT = "Mbit/s"
_CAPACITIES = (("i", "j", "capacity"), ("i", "j", "cap"))
_DEMANDS = (("s", "t", "h", "tm"),)
_MOST_COLUMNS = 10
"""Cuts of a line into cells at most: enough to see that a line has too many."""


def read_flexile_topology(path: Path, default_capacity: float | None, note: Note, unit: str | None) -> Topology:
    """Return the topology of a file of capacities: a line `i j capacity`, then a directed link in each line.

    Nodes are numbered from 0, and named by their numbers.

    Raises:
        InputError: anything else; its place is the line.
    """
    rows = list(islice(_rows(path, _CAPACITIES), MOST_LINKS + 1))
    if len(rows) > MOST_LINKS:
        raise InputError(path, rows[-1][0], "too many links", f"a network of at most {MOST_LINKS} links")
    links = [(_node(path, line, a), _node(path, line, b), rate, line) for line, (a, b, rate) in rows]
    draft = NetworkDraft(path, path.stem.removesuffix("_capa") or path.stem, default_capacity, note)
    for number in range(max((max(a, b) for a, b, *_ in links), default=-1) + 1):
        draft.add_node(str(number))
    rates = RateUnit(unit, _UNIT)
    rates.note("capacities", note)
    for a, b, rate, line in links:
        capacity = require_number(rate, path, line, "capacity", POSITIVE_RATE) / rates.per_mbit
        draft.add_edge(str(a), str(b), capacity, directed=True, place=line)
    return draft.topology()


def read_flexile_demands(
    path: Path, topology: Topology, row: int | None, note: Note, unit: str | None
) -> tuple[Demand, ...]:
    """Return one matrix of a file of demands: a line `s t h tm`, then source, target, matrix and rate in each.

    The matrices are numbered from 0 in the file, and `row` from 1.

    Raises:
        InputError: no such matrix, or anything else; its place is the line.
    """
    rates = RateUnit(unit, _UNIT)
    rates.note("demands", note)
    words = {word for _, cells in _rows(path, _DEMANDS) for word in cells[:2]}
    node_of = finder_of_nodes(topology, words, 0, "", note)
    total = DemandSum(path, topology)
    wanted = (row or 1) - 1
    matrices: set[int] = set()
    for line, (source, target, matrix, rate) in _rows(path, _DEMANDS):
        number = parse_whole(matrix)
        if number is None or number > MOST_NODES:
            raise InputError(path, line, f"h {quoted(matrix)}", "the number of a matrix, from 0")
        matrices.add(number)
        if number == wanted:
            ends = node_of(path, line, source), node_of(path, line, target)
            total.add(*ends, require_number(rate, path, line, "tm", "a rate, zero or more") / rates.per_mbit, line)
    if wanted not in matrices:
        raise InputError(
            path, "", f"{counted(len(matrices), 'matrix', 'matrices')}, no row {wanted + 1}", "a matrix of the file"
        )
    if row is None and len(matrices) > 1:
        note(f"the first of {len(matrices)} matrices is taken; --row chooses another")
    return total.demands(note)


def _node(path: Path, line: int, text: str) -> int:
    number = parse_whole(text)
    if number is None or number > MOST_NODES:
        raise InputError(path, line, f"node {quoted(text)}", f"the number of a node, at most {MOST_NODES}")
    return number


def _rows(path: Path, headings: tuple[tuple[str, ...], ...]) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and cells of each line after that with the headings."""
    expected = " or ".join(" ".join(each) for each in headings)
    heading: tuple[str, ...] = ()
    for line, text in read_lines(path, f"a file with the columns {expected}"):
        cells = text.split(maxsplit=_MOST_COLUMNS)
        if not cells:
            continue
        if not heading:
            heading = tuple(cells)
            if heading not in headings:
                raise InputError(path, line, f"found {quoted(text.strip())}", f"the headings {expected}")
        elif len(cells) != len(heading):
            raise InputError(path, line, counted(len(cells), "column"), f"the columns {expected}")
        else:
            yield line, cells
    if not heading:
        raise InputError(path, "", "is empty", f"the headings {expected}")
