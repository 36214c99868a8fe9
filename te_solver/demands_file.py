"""Reads traffic demands from CSV, naming the line of whatever is wrong with them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from te_solver.demands import Demand
from te_solver.errors import InputError, UnsoundError, quoted
from te_solver.text import parse_number, read_text
from te_solver.topology import Topology

_COLUMNS = ("source", "target", "rate", "priority")
_HEADER = "source,target,rate[,priority]"
_HEADERS = (_COLUMNS[:3], _COLUMNS)


def load_demands(path: Path, topology: Topology) -> tuple[Demand, ...]:
    """The demands in a CSV file, in file order.

    The first line is the header `source,target,rate` or `source,target,rate,priority`; rates are Mbit/s. Empty lines
    and lines that start with `#` are left out, spaces around a cell do not count.

    Raises:
        InputError: anything else, unknown nodes and a repeated (source, target, priority) among it; its place is the
            line.
    """
    rows = _rows(path, read_text(path, "a demand file"))
    header_line, header = next(rows, (0, ()))
    if header not in _HEADERS:
        raise InputError(path, header_line or "", "the header is missing", _HEADER)
    demands: dict[tuple[str, str, int], Demand] = {}
    for line, row in rows:
        if len(row) != len(header):
            raise InputError(path, line, f"{len(row)} columns", f"{len(header)}, as in the header")
        try:
            demand = _demand(path, line, row)
            demand.require_nodes_of(topology)
        except UnsoundError as error:
            raise InputError(path, line, error.problem, error.expected) from error
        key = (*demand.pair, demand.priority)
        if key in demands:
            raise InputError(
                path,
                line,
                f"a second demand from {demand.source} to {demand.target} with priority {demand.priority}",
                "one for each source, target and priority",
            )
        demands[key] = demand
    if not demands:
        raise InputError(path, "", "there is no demand", "at least one line after the header")
    return tuple(demands.values())


def _rows(path: Path, text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line number and cells of every line that holds data; a quoted cell ends on its own line."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            (cells,) = csv.reader([line], strict=True, skipinitialspace=True)
        except csv.Error as error:
            raise InputError(path, number, f"malformed CSV ({error})", _HEADER) from error
        yield number, tuple(cell.strip() for cell in cells)


def _demand(path: Path, line: int, row: tuple[str, ...]) -> Demand:
    source, target, rate_text, *rest = row
    rate = parse_number(rate_text)
    if rate is None:
        raise InputError(path, line, f"rate {quoted(rate_text)} is not a number", "Mbit/s, such as 800 or 0.5")
    priority_text = rest[0] if rest else "0"
    if not re.fullmatch("[0-9]{1,9}", priority_text):
        raise InputError(path, line, f"priority {quoted(priority_text)}", "a whole number, zero or more")
    return Demand(source, target, rate, int(priority_text))
