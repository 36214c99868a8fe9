"""Topologies and demands from files, or by name: of shipped networks and of topohub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kuijia_base.errors import InputError
from kuijia_base.options import spelled
from kuijia_base.quantities import counted, rate
from kuijia_base.text import Note
from te_solver.formats.csv_rows import Progress, no_progress
from te_solver.formats.demands_file import line_of_demand, load_demands
from te_solver.formats.sndlib import is_sndlib_native
from te_solver.formats.teavar import DEMANDS_FILE, file_of_folder
from te_solver.formats.topohub_networks import PREFIX
from te_solver.formats.topology_file import load_topology
from te_solver.model.connectivity import Reachability, connected_nodes
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology
from te_solver.networks import shipped_demands, shipped_network

_LISTED = 20

Place = Callable[[int], str | int]


def topology_of(
    name: str, file_format: str | None, default_capacity: float | None, note: Note, rate_unit: str | None = None
) -> Topology:
    """Return the topology in a file, or of this name; `note` receives the assumptions. Raises InputError."""
    return load_topology(_file(name) or shipped_network(name), file_format, default_capacity, note, rate_unit)


def demands_of(
    name: str,
    topology: Topology,
    file_format: str | None,
    row: int | None,
    note: Note,
    progress: Progress = no_progress,
    *,
    rate_unit: str | None = None,
) -> tuple[Demand, ...]:
    """Return the demands in a file, or of this name, for a topology; raises InputError."""
    source = _file(name) or shipped_demands(name)
    return load_demands(source, topology, file_format, row, note=note, progress=progress, rate_unit=rate_unit)


def holds_demands(name: str) -> bool:
    """Return True if the source of a topology may hold demands as well: its format has room for them.

    Raises:
        InputError: its format depends on its first line, which cannot be read.
    """
    source = _file(name)
    if source is None or isinstance(source, str):
        return True
    if file_of_folder(source, DEMANDS_FILE) != source:
        return True
    suffix = source.suffix.lower()
    return suffix == ".xml" or (suffix == ".txt" and is_sndlib_native(source, "a demand file"))


def line_in(name: str, file_format: str | None) -> Place:
    """Return the function that finds the line of a demand by its number, in a file or under this name."""

    def line(number: int) -> str | int:
        return line_of_demand(_file(name) or shipped_demands(name), number, file_format) or ""

    return line


def connected_demands(
    demands: tuple[Demand, ...], topology: Topology, name: str, note: Note, place: Place, *, drop: bool
) -> tuple[Demand, ...]:
    """Return the demands between connected nodes; others are left out if `drop` is set.

    Args:
        demands: the demands.
        topology: the network.
        name: their file or name, for messages.
        note: receives the demands that are left out.
        place: returns the place of a demand by its number.
        drop: leave out demands between nodes that are not connected.

    Raises:
        InputError: such demands may not be left out, or no other ones are there.
    """
    reachability = Reachability(topology)
    apart = [number for number, demand in enumerate(demands) if not reachability.connects(*demand.pair)]
    if apart and not drop:
        first = demands[apart[0]]
        others = f", nor for {counted(len(apart) - 1, 'other demand')}" if len(apart) > 1 else ""
        raise InputError(
            name,
            place(apart[0]),
            f"no path from {first.source} to {first.target}{others}",
            f"{connected_nodes(topology)}, or {spelled('drop_unreachable', value=True)}",
        )
    return _without(demands, set(apart), topology, name, note) if apart else demands


def _without(
    demands: tuple[Demand, ...], apart: set[int], topology: Topology, source: str, note: Note
) -> tuple[Demand, ...]:
    """Return the demands except those with these numbers, which are noted."""
    kept = tuple(demand for number, demand in enumerate(demands) if number not in apart)
    dropped = [demand for number, demand in enumerate(demands) if number in apart]
    if not kept:
        raise InputError(source, "", "no demand between connected nodes", f"one on {topology.name}")
    note(f"{counted(len(dropped), 'demand')} between nodes that are not connected left out:")
    for demand in dropped[:_LISTED]:
        note(f"  {demand.source} to {demand.target}: {rate(demand.rate)}")
    if len(dropped) > _LISTED:
        note(f"  and {len(dropped) - _LISTED} more")
    return kept


def _file(name: str) -> str | Path | None:
    """Return the file or topohub network of this name; None if it may be the name of a shipped network."""
    if name.startswith(PREFIX):
        return name
    path = Path(name)
    try:
        return path if path.exists() or path.name != name or path.suffix else None
    except OSError:  # the reader reports why that is impossible
        return path
