"""Inputs of several verbs: a topology and demands, from a file or by name, with the options on reading them."""

from __future__ import annotations

import argparse

from kuijia.api.solving import DEFAULT_TUNNELS, require_paths
from kuijia.api.sources import connected_demands, demands_of, holds_demands, line_in, topology_of
from kuijia.cli.parsers import add_alias
from kuijia.cli.printing import print_notes
from kuijia_base.errors import InputError
from kuijia_base.option_values import positive_rate, whole_number
from kuijia_base.options import typed_options
from kuijia_base.progress import progress_line
from kuijia_base.quantities import rate
from te_solver.formats.demands_file import DEMAND_FORMATS
from te_solver.formats.draft import DEFAULT_CAPACITY, RATE_UNITS
from te_solver.formats.topohub_networks import PREFIX
from te_solver.formats.topology_file import topology_formats
from te_solver.model.demands import Demand
from te_solver.model.plan import DISJOINT, MAX_TUNNELS_PER_PAIR
from te_solver.model.topology import Topology
from te_solver.networks import shipped_names
from te_solver.tunnels.finder import PairsFinder
from te_solver.tunnels.path_finders import finder_by, path_choice_words


def add_topology(parser: argparse.ArgumentParser, *, scaled: bool = False, required: bool = True) -> None:
    """Add the argument TOPOLOGY and its options; `scaled` is for verbs whose --capacity scales all links."""
    parser.add_argument(
        "topology",
        metavar="TOPOLOGY",
        nargs=None if required else "?",
        help="topology file (YAML, GraphML, GML, SNDlib, TEAVAR, REPETITA, YATES, node-link JSON, Flexile), "
        f"{PREFIX}NAME, or a shipped network: "
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
    _add_rate_unit(parser)
    if not scaled:
        add_alias(parser, "--capacity", "--default-capacity")


def _add_rate_unit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rate-unit",
        choices=RATE_UNITS,
        help="unit of rates in files that do not state it (default: assumed by format, with a note)",
    )


def add_demands(parser: argparse.ArgumentParser, *, optional: bool = True, of_topology: bool = True) -> None:
    """Add the argument DEMANDS and its options; with `of_topology` the default are those that come with TOPOLOGY."""
    default = " (default: the demands that come with TOPOLOGY)" if optional and of_topology else ""
    parser.add_argument(
        "demands",
        metavar="DEMANDS",
        nargs="?" if optional else None,
        help=f"demand file (CSV, SNDlib, TEAVAR, REPETITA, YATES, FIGRET, Flexile), {PREFIX}NAME, or that of a shipped "
        "network: "
        f"{', '.join(shipped_names())}{default}",
    )
    parser.add_argument(
        "--demand-format", choices=DEMAND_FORMATS, help="format of the demand file (default: by its suffix)"
    )
    parser.add_argument(
        "--row",
        type=whole_number(1, 10**9, expected="a whole number, one or more"),
        metavar="N",
        help="matrix to read from a file of several, counted from 1 (default: 1)",
    )
    parser.add_argument(
        "--drop-unreachable", action="store_true", help="ignore demands between nodes that are not connected"
    )
    if not of_topology:  # whose options have it
        _add_rate_unit(parser)


def add_tunnels(parser: argparse.ArgumentParser, most: int = MAX_TUNNELS_PER_PAIR) -> None:
    parser.add_argument(
        "--tunnels",
        type=whole_number(1, most, of=" tunnels per pair"),
        default=DEFAULT_TUNNELS,
        metavar="K",
        help="tunnels per pair, edge-disjoint where possible (default: %(default)s)",
    )


def add_paths(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--paths",
        default=DISJOINT,
        metavar="CHOICE",
        help=f"how tunnels are chosen: {', '.join(path_choice_words())} (default: %(default)s)",
    )


def read_finder(args: argparse.Namespace, topology: Topology) -> PairsFinder:
    """Return the finder of tunnels that the option of `add_paths` chooses; raises InputError.

    Assumptions about its file go to stderr.
    """
    word = str(args.paths)
    with typed_options():
        require_paths(word, node_disjoint=False)
    return finder_by(topology, word, note=lambda assumed: print_notes(word, [assumed]))


def read_topology(args: argparse.Namespace, notes: list[str] | None = None) -> Topology:
    """Return the topology chosen by the options of `add_topology`; raises InputError.

    Assumptions go to stderr, and into `notes` as well if given.
    """
    name = str(args.topology)
    assumed: list[str] = []
    topology = topology_of(name, args.topology_format, args.default_capacity, assumed.append, args.rate_unit)
    print_notes(name, assumed)
    if notes is not None:
        notes += assumed
    return topology


def read_demands(args: argparse.Namespace, topology: Topology) -> tuple[Demand, ...]:
    """Return the demands chosen by the options of `add_demands`; raises InputError.

    Without DEMANDS they are those that come with the topology, and `args` then names it as their source. Demands
    between nodes that are not connected are left out where the options say so, else refused.
    """
    if args.demands is None:
        if not holds_demands(str(args.topology)):
            raise InputError(args.topology, "", "comes without demands", "DEMANDS after it")
        args.demands = args.topology
    name = str(args.demands)
    notes: list[str] = []
    with progress_line() as progress:
        show_late = progress.patiently()

        def show(line: int) -> None:
            show_late(f"reading {name}: {line:,} lines")

        reading = args.demand_format, args.row, notes.append, show
        demands = demands_of(name, topology, *reading, rate_unit=args.rate_unit)
    place = line_in(name, args.demand_format)
    with typed_options():
        demands = connected_demands(demands, topology, name, notes.append, place, drop=args.drop_unreachable)
    print_notes(name, notes)
    return demands
