"""Inputs of several verbs: a topology and demands, from a file or by name, with the options on reading them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kuijia.cli.common_options import add_alias
from kuijia.cli.notes import print_notes
from kuijia_base.errors import InputError
from kuijia_base.option_values import positive_rate, whole_number
from kuijia_base.progress import Progress
from kuijia_base.quantities import rate
from te_solver.connectivity import Reachability
from te_solver.demands import Demand
from te_solver.demands_file import DEMAND_FORMATS, line_of_demand, load_demands
from te_solver.formats.draft import DEFAULT_CAPACITY
from te_solver.formats.notes import counted
from te_solver.formats.topohub_networks import PREFIX
from te_solver.networks import shipped_demands, shipped_names, shipped_network
from te_solver.plan import MAX_TUNNELS_PER_PAIR
from te_solver.topology import Topology
from te_solver.topology_file import load_topology, topology_formats

DEFAULT_TUNNELS = 3

MOST_PARTS = 10_000
"""Most parts of --partitions."""

_LISTED = 20

_MANY_LINKS = 10_000
"""Links from which on it takes seconds until work on them can show progress."""


def add_topology(parser: argparse.ArgumentParser, *, scaled: bool = False, required: bool = True) -> None:
    """Add the argument TOPOLOGY and its options; `scaled` is for verbs whose --capacity scales all links."""
    parser.add_argument(
        "topology",
        metavar="TOPOLOGY",
        nargs=None if required else "?",
        help=f"topology file (YAML, GraphML, GML, SNDlib, TEAVAR), {PREFIX}NAME, or a shipped network: "
        f"{', '.join(shipped_names())}",
    )
    add_reading(parser, scaled=scaled)


def add_reading(parser: argparse.ArgumentParser, *, scaled: bool = False) -> None:
    """Add the options on reading a topology."""
    parser.add_argument(
        "--format",
        dest="topology_format",
        choices=topology_formats(),
        help="format of the topology file (default: by its suffix)",
    )
    parser.add_argument(
        "--default-capacity",
        type=positive_rate,
        metavar="RATE",
        help="capacity of links without one in the file, Mbit/s or with a unit such as 10G "
        f"(default: {rate(DEFAULT_CAPACITY)})",
    )
    if not scaled:
        add_alias(parser, "--capacity", "--default-capacity")


def add_demands(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the argument DEMANDS and its options."""
    parser.add_argument(
        "demands",
        metavar="DEMANDS",
        nargs=None if required else "?",
        help=f"demand file (CSV, SNDlib, TEAVAR), {PREFIX}NAME, or that of a shipped network: "
        f"{', '.join(shipped_names())}",
    )
    parser.add_argument(
        "--demand-format", choices=DEMAND_FORMATS, help="format of the demand file (default: by its suffix)"
    )
    parser.add_argument(
        "--row",
        type=whole_number(1, 10**9, expected="a whole number, one or more"),
        metavar="N",
        help="number of the matrix in a TEAVAR file, from 1 (default: 1)",
    )
    parser.add_argument(
        "--drop-unreachable", action="store_true", help="leave out demands between nodes that are not connected"
    )


def add_tunnels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tunnels",
        type=whole_number(1, MAX_TUNNELS_PER_PAIR, of=" tunnels per pair"),
        default=DEFAULT_TUNNELS,
        metavar="K",
        help="tunnels per pair, edge-disjoint where possible (default: %(default)s)",
    )


def read_topology(args: argparse.Namespace, notes: list[str] | None = None) -> Topology:
    """Return the topology chosen by the options of `add_topology`; raises InputError.

    Assumptions go to stderr, and into `notes` as well if given.
    """
    name = str(args.topology)
    source = _file(name) or shipped_network(name)
    assumed: list[str] = []
    topology = load_topology(source, args.topology_format, args.default_capacity, assumed.append)
    print_notes(name, assumed)
    if notes is not None:
        notes += assumed
    return topology


def read_demands(args: argparse.Namespace, topology: Topology) -> tuple[Demand, ...]:
    """Return the demands chosen by the options of `add_demands`; raises InputError.

    Demands between nodes that are not connected are left out where the options say so, else refused.
    """
    name = str(args.demands)
    source = _file(name) or shipped_demands(name)
    progress = Progress(sys.stderr)
    show_late = progress.patiently()
    notes: list[str] = []

    def show(line: int) -> None:
        show_late(f"reading {name}: {line:,} lines")

    try:
        demands = load_demands(source, topology, args.demand_format, args.row, note=notes.append, progress=show)
    finally:
        progress.close()
    reachability = Reachability(topology)
    apart = [number for number, demand in enumerate(demands) if not reachability.connects(*demand.pair)]
    if apart and not args.drop_unreachable:
        first = demands[apart[0]]
        others = f", nor for {counted(len(apart) - 1, 'other demand')}" if len(apart) > 1 else ""
        problem = f"no path from {first.source} to {first.target}{others}"
        expected = f"demands between connected nodes of {topology.name}, or --drop-unreachable"
        raise InputError(name, line_of_demand(source, apart[0], args.demand_format) or "", problem, expected)
    if apart:
        demands = _without(demands, set(apart), topology, name, notes)
    print_notes(name, notes)
    return demands


def announce(topology: Topology, progress: Progress) -> None:
    """Show that work starts on a large topology, whose first step takes seconds."""
    if len(topology.links) >= _MANY_LINKS:
        progress.show(f"preparing {len(topology.links):,} links")


def _without(
    demands: tuple[Demand, ...], apart: set[int], topology: Topology, source: str, notes: list[str]
) -> tuple[Demand, ...]:
    """Return the demands except those with these numbers, which are noted."""
    kept = [demand for number, demand in enumerate(demands) if number not in apart]
    dropped = [demand for number, demand in enumerate(demands) if number in apart]
    if not kept:
        raise InputError(source, "", "no demand between connected nodes", f"one on {topology.name}")
    notes.append(f"{counted(len(dropped), 'demand')} between nodes that are not connected left out:")
    notes += [f"  {demand.source} to {demand.target}: {rate(demand.rate)}" for demand in dropped[:_LISTED]]
    if len(dropped) > _LISTED:
        notes.append(f"  and {len(dropped) - _LISTED} more")
    return tuple(kept)


def _file(name: str) -> str | Path | None:
    """Return the file or topohub network of this name; None if it may be the name of a shipped network."""
    if name.startswith(PREFIX):
        return name
    path = Path(name)
    try:
        return path if path.exists() or path.name != name or path.suffix else None
    except OSError:  # the reader reports why that is impossible
        return path
