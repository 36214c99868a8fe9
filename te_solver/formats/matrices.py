"""Reads files of demand matrices, one matrix of N * N rates in each line: those of TEAVAR, YATES and FIGRET."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from kuijia_base.errors import InputError
from kuijia_base.quantities import counted
from kuijia_base.text import Note, read_lines, require_number, unheard
from te_solver.formats.draft import DemandSum, RateUnit
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology

MOST_MATRICES = 1000
"""Matrices that are read together."""

_OTHER_SIZES, _FEW = 4, 10_000
"""Of a line with more than so many times the wanted rates, or than a few, it is only said that there are more."""


def read_matrix(
    path: Path, topology: Topology, nodes: Sequence[str], row: int | None, note: Note, unit: RateUnit
) -> tuple[Demand, ...]:
    """Return the matrix in line `row` (from 1): the rates from the first node to all nodes, then from the second.

    The diagonal is left out, as are rates of zero.

    Raises:
        InputError: no such row, another number of rates than nodes squared, a rate that is negative or not finite; its
            place is the line.
    """
    wanted = 1 if row is None else row
    most = max(_OTHER_SIZES * len(nodes) ** 2, _FEW)
    chosen: tuple[int, list[str]] | None = None
    rows = 0
    for line, text in read_lines(path, "a file of demand matrices"):
        if text.strip():
            rows += 1
            if rows == wanted:
                chosen = line, text.split(maxsplit=most)
    if chosen is None:
        raise InputError(path, "", f"{counted(rows, 'matrix', 'matrices')}, no row {wanted}", "a row of the file")
    if row is None and rows > 1:
        note(f"the first of {rows} matrices is taken; --row chooses another")
    unit.note("demands", note)
    return _matrix(path, topology, nodes, *chosen, unit.per_mbit).demands(note)


def read_matrices(path: Path, topology: Topology) -> list[tuple[Demand, ...]]:
    """Return all matrices in a file, one in each line, in the order of the topology's nodes and in the file's unit.

    Raises:
        InputError: there is none or there are more than `MOST_MATRICES`, or as `read_matrix`.
    """
    found: list[tuple[Demand, ...]] = []
    for line, text in read_lines(path, "a file of demand matrices"):
        if text.strip():
            if len(found) == MOST_MATRICES:
                raise InputError(path, line, "one more matrix", f"at most {MOST_MATRICES}")
            cells = text.split(maxsplit=max(_OTHER_SIZES * len(topology.nodes) ** 2, _FEW))
            found.append(_matrix(path, topology, topology.nodes, line, cells, 1.0).demands(unheard))
    if not found:
        raise InputError(path, "", "no matrix", "a line of rates for each")
    return found


def read_figret_demands(
    path: Path, topology: Topology, row: int | None, note: Note, unit: str | None
) -> tuple[Demand, ...]:
    """Return a matrix of FIGRET's history (`.hist`; Liu et al., SIGCOMM 2024), in the order of the topology's nodes.

    Raises:
        InputError: as `read_matrix` raises it.
    """
    return read_matrix(path, topology, topology.nodes, row, note, RateUnit(unit, "Mbit/s"))


def _matrix(
    path: Path, topology: Topology, nodes: Sequence[str], line: int, cells: list[str], per_mbit: float
) -> DemandSum:
    size = len(nodes)
    if len(cells) != size * size:
        side = math.isqrt(len(cells))
        more = "more than " if len(cells) > max(_OTHER_SIZES * size * size, _FEW) else ""
        of = f", the matrix of {side} nodes" if side * side == len(cells) else ""
        raise InputError(
            path,
            line,
            f"{more}{counted(len(cells) - bool(more), 'rate')}{of}",
            f"{size * size}, as {topology.name} has {size} nodes",
        )
    total = DemandSum(path, topology)
    rates = iter(cells)
    for source in nodes:
        for target in nodes:
            text = next(rates)
            if text != "0":
                rate = require_number(text, path, line, "rate", "Mbit/s, zero or more")
                if rate != 0:
                    total.add(source, target, rate / per_mbit, line)
    return total
