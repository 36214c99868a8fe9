"""Demands in and out: reads every format there is, chosen by suffix or by name, and CSV line by line; writes CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from kuijia_base.errors import InputError, UnsoundError, quoted
from kuijia_base.quantities import require_rate
from kuijia_base.reading import reading
from kuijia_base.text import Note, unheard, write_text
from te_solver.formats.csv_rows import Progress, csv_rows, header_error, no_progress
from te_solver.formats.flexile import read_flexile_demands
from te_solver.formats.matrices import read_figret_demands
from te_solver.formats.repetita import read_repetita_demands
from te_solver.formats.sndlib import is_sndlib_native, read_sndlib_demands
from te_solver.formats.teavar import DEMANDS_FILE, file_of_folder, read_teavar_demands
from te_solver.formats.topohub_networks import PREFIX, read_topohub_demands
from te_solver.formats.yates import read_yates_demands
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology

_COLUMNS = ("source", "target", "rate", "priority")
_HEADER = "source,target,rate[,priority]"
_HEADERS = (_COLUMNS[:3], _COLUMNS)


def iterate_csv_demands(path: Path, topology: Topology, progress: Progress = no_progress) -> Iterator[Demand]:
    """Yield the demands in a CSV file, in file order.

    The first line is the header `source,target,rate` or `source,target,rate,priority`; rates are Mbit/s, or have a
    unit as in `10G`. Empty lines and lines that start with `#` are left out, spaces around a cell do not count.

    Raises:
        InputError: anything else, unknown nodes and a repeated (source, target, priority) among it; its place is the
            line.
    """
    rows = csv_rows(path, "a demand file", _HEADER, progress)
    header_line, header = next(rows, (0, ()))
    if header not in _HEADERS:
        raise header_error(path, header_line, header, _HEADER)
    # Demands share the topology's own texts, and what was seen is kept as numbers: a file has many lines.
    names = {node: (node, position) for position, node in enumerate(topology.nodes)}
    seen: set[tuple[int, int] | int] = set()
    for line, row in rows:
        if len(row) != len(header):
            raise InputError(path, line, f"{len(row)} columns", f"{len(header)}, as in the header")
        (source, first), (target, second) = (names.get(cell, (cell, -1)) for cell in row[:2])
        try:
            demand = _demand(path, line, source, target, row)
            demand.require_nodes_of(topology)
        except UnsoundError as error:
            raise InputError(path, line, error.problem, error.expected) from error
        pair = first * len(names) + second
        key = (pair, demand.priority) if demand.priority else pair
        if key in seen:
            raise InputError(
                path,
                line,
                f"a second demand from {demand.source} to {demand.target} with priority {demand.priority}",
                "one for each source, target and priority",
            )
        seen.add(key)
        yield demand
    if not seen:
        raise InputError(path, "", "there is no demand", "at least one line after the header")


def csv_line(path: Path, number: int) -> int | None:
    """Return the line of a CSV file with the demand of this number, from 0; None if the file can be read only once."""
    rows = csv_rows(path, "a demand file", _HEADER, no_progress)
    return next((line for line, _ in islice(rows, number + 1, None)), None)


def demands_csv(demands: Iterable[Demand], comment: str = "") -> str:
    """Return the text of a CSV file with these demands, after the comment's lines; rates keep every digit."""
    chosen = tuple(demands)
    with_priority = any(demand.priority for demand in chosen)
    lines = [f"# {line}" for line in comment.splitlines()]
    lines.append(",".join(_COLUMNS if with_priority else _COLUMNS[:3]))
    for demand in chosen:
        cells = [_cell(demand.source), _cell(demand.target), repr(float(demand.rate))]
        lines.append(",".join([*cells, str(demand.priority)] if with_priority else cells))
    return "\n".join(lines) + "\n"


def _cell(name: str) -> str:
    # A line that begins with # would be a comment.
    return f'"{name.replace(chr(34), chr(34) * 2)}"' if name.startswith("#") or "," in name or '"' in name else name


def _demand(path: Path, line: int, source: str, target: str, row: tuple[str, ...]) -> Demand:
    rate = require_rate(row[2], path, line, "rate", "Mbit/s, such as 800 or 0.5, or a rate with its unit, such as 10G")
    priority_text = row[3] if len(row) > 3 else "0"
    if not re.fullmatch("[0-9]{1,9}", priority_text):
        raise InputError(path, line, f"priority {quoted(priority_text)}", "a whole number, zero or more")
    return Demand(source, target, rate, int(priority_text))


_READERS = {
    "sndlib": read_sndlib_demands,
    "teavar": read_teavar_demands,
    "repetita": read_repetita_demands,
    "yates": read_yates_demands,
    "figret": read_figret_demands,
    "flexile": read_flexile_demands,
}
_WITH_ROWS = frozenset({"teavar", "yates", "figret", "flexile"})
"""Formats of several matrices in a file."""

DEMAND_FORMATS = ("csv", *_READERS)

_FORMAT_OF_SUFFIX = {".xml": "sndlib", ".demands": "repetita", ".hist": "figret", ".tab": "flexile"}


def load_demands(
    source: str | Path,
    topology: Topology,
    file_format: str | None = None,
    row: int | None = None,
    *,
    note: Note = unheard,
    progress: Progress = no_progress,
    rate_unit: str | None = None,
) -> tuple[Demand, ...]:
    """Return the demands in a file, or those that come with the network `topohub:KEY`.

    The format is one of `DEMAND_FORMATS`; by default it is chosen by the suffix: .xml (SNDlib), .demands
    (REPETITA), .hist (FIGRET), .tab (Flexile), .txt (SNDlib's native format where its heading says so, else TEAVAR),
    CSV for all others; a folder stands for TEAVAR's file in it. `row` chooses one of several matrices, from 1. Where a
    format leaves the unit of rates open, it is `rate_unit`, one of `RATE_UNITS`; None stands for that which the reader
    assumes. `note` receives one sentence about each assumption; `progress` receives the current line number now and
    then.

    Raises:
        InputError: the file holds no such demands; its place is the line where the format has lines.
        ValueError: an unknown format.
    """
    if str(source).startswith(PREFIX) and row is None:
        with reading(str(source), "demands of topohub"):
            return read_topohub_demands(str(source), topology, note)
    path = file_of_folder(Path(source), DEMANDS_FILE)
    chosen = file_format or _format_of(path)
    if row is not None and chosen not in _WITH_ROWS:
        raise InputError(path, "", f"row {row} of {chosen} demands is asked for", "a file of several matrices")
    if chosen not in DEMAND_FORMATS:
        raise ValueError(f"no demand format {chosen!r}, there are {', '.join(DEMAND_FORMATS)}")
    with reading(path, f"demands in the format {chosen}"):
        if chosen == "csv":
            return tuple(iterate_csv_demands(path, topology, progress))
        return _READERS[chosen](path, topology, row, note, rate_unit)


def line_of_demand(source: str | Path, number: int, file_format: str | None = None) -> int | None:
    """Return the line of the demand that `load_demands` gave this number, from 0; None if it has no single line."""
    if str(source).startswith(PREFIX):
        return None
    path = file_of_folder(Path(source), DEMANDS_FILE)
    return csv_line(path, number) if (file_format or _format_of(path)) == "csv" else None


def save_demands(demands: Iterable[Demand], path: Path, comment: str = "") -> None:
    """Write CSV, whole or not at all; raises InputError when the file cannot be written."""
    write_text(path, demands_csv(demands, comment))


def _format_of(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix == ".txt":
        return "sndlib" if is_sndlib_native(path, "a demand file") else "teavar"
    return _FORMAT_OF_SUFFIX.get(suffix, "csv")
