"""What several verbs take: a topology and demands by file or by the name of a shipped network, and their options."""

from __future__ import annotations

import argparse
from pathlib import Path

from te_solver.demands import Demand
from te_solver.demands_file import load_demands
from te_solver.networks import shipped_demands, shipped_names, shipped_network
from te_solver.plan import MAX_TUNNELS_PER_PAIR
from te_solver.topology import Topology
from te_solver.topology_file import load_topology

DEFAULT_TUNNELS = 3


def add_topology(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(shipped_names())
    parser.add_argument("topology", metavar="TOPOLOGY", help=f"topology file (YAML), or a shipped network: {names}")


def add_demands(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(shipped_names())
    parser.add_argument("demands", metavar="DEMANDS", help=f"demand file (CSV), or that of a shipped network: {names}")


def add_tunnels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tunnels",
        type=_tunnel_count,
        default=DEFAULT_TUNNELS,
        metavar="K",
        help="tunnels per pair, edge-disjoint where possible (default: %(default)s)",
    )


def read_topology(name: str) -> Topology:
    """The topology in the file `name` or, when there is no such file, of the shipped network; raises InputError."""
    return load_topology(_file(name) or shipped_network(name))


def read_demands(name: str, topology: Topology) -> tuple[Demand, ...]:
    """The demands in the file `name` or, when there is no such file, of the shipped network; raises InputError."""
    return load_demands(_file(name) or shipped_demands(name), topology)


def _file(name: str) -> Path | None:
    """The file of this name; None when there is none and the name may be that of a shipped network."""
    path = Path(name)
    return path if path.exists() or path.name != name or path.suffix else None


def _tunnel_count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MAX_TUNNELS_PER_PAIR):
        raise argparse.ArgumentTypeError(
            f"{text!r} tunnels per pair, expected a whole number from 1 to {MAX_TUNNELS_PER_PAIR}"
        )
    return int(text)
