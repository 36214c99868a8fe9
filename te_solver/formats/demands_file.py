"""Demands in and out: reads every format there is, chosen by suffix or by name, and writes CSV."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kuijia_base.errors import InputError
from kuijia_base.reading import reading
from kuijia_base.text import Note, unheard, write_text
from te_solver.formats.csv_rows import Progress, no_progress
from te_solver.formats.demands_csv import csv_line, demands_csv, iterate_csv_demands
from te_solver.formats.flexile import read_flexile_demands
from te_solver.formats.matrices import read_figret_demands
from te_solver.formats.repetita import read_repetita_demands
from te_solver.formats.sndlib import is_sndlib_native, read_sndlib_demands
from te_solver.formats.teavar import DEMANDS_FILE, file_of_folder, read_teavar_demands
from te_solver.formats.topohub_networks import PREFIX, read_topohub_demands
from te_solver.formats.yates import read_yates_demands
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology

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
