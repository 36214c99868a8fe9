"""`kuijia topology`: describes a network, or converts it to our YAML."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kuijia.api.topology import topology_lines
from kuijia.cli.inputs import add_topology, read_topology
from kuijia.cli.parsers import add_common_options
from kuijia.cli.printing import print_json, print_notes
from kuijia_base.errors import InputError, UnsoundError, one_line
from kuijia_base.option_values import path_name, positive_rate
from kuijia_base.quantities import counted
from kuijia_base.text import write_text
from te_solver.formats.topology_yaml import topology_as_data, topology_yaml
from te_solver.model.connectivity import largest_part

if TYPE_CHECKING:
    from te_solver.model.topology import Topology
    from te_solver.model.topology_summary import TopologySummary

_LISTED = 8
"""Most different capacities in the description, unless -v asks for all."""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    describe = actions.add_parser(
        "describe", help="show size, capacities, connectivity, and what was assumed about the file"
    )
    add_topology(describe)
    _add_conventions(describe)
    describe.set_defaults(act=_describe)
    convert = actions.add_parser("convert", help="write the network as YAML")
    add_topology(convert)
    _add_conventions(convert)
    convert.add_argument("-o", "--output", type=path_name, metavar="FILE", help="write to this file (default: print)")
    convert.set_defaults(act=_convert)
    for action in actions.choices.values():
        add_common_options(action, below_another=True)


def _add_conventions(parser: argparse.ArgumentParser) -> None:
    """Add the options by which the network becomes what other projects make of the same file."""
    parser.add_argument(
        "--largest-part",
        action="store_true",
        help="keep only the largest part in which every node reaches every other, as NCFlow and POP do",
    )
    parser.add_argument(
        "--uniform-capacity",
        type=positive_rate,
        metavar="RATE",
        help="capacity of every link, whatever the file says; parallel edges then count once",
    )


def _network(args: argparse.Namespace, notes: list[str]) -> Topology:
    """Return the topology chosen by the options of both actions; raises InputError."""
    topology = read_topology(args, notes)
    if args.largest_part:
        try:
            kept = largest_part(topology)
        except UnsoundError as error:
            raise InputError(args.topology, "", error.problem, error.expected) from error
        left_out = len(topology.nodes) - len(kept.nodes)
        if left_out:
            assumed = [f"{counted(left_out, 'node')} outside the largest part left out"]
            print_notes(args.topology, assumed)
            notes += assumed
        topology = kept
    return topology if args.uniform_capacity is None else topology.with_capacity(args.uniform_capacity)


def run(args: argparse.Namespace) -> int:
    status: int = args.act(args)
    return status


def _describe(args: argparse.Namespace) -> int:
    from te_solver.model.topology_summary import summarise  # noqa: PLC0415  # slow to import: SciPy

    notes: list[str] = []
    summary = summarise(_network(args, notes))
    if args.json:
        print_json("topology-summary", {**_as_json(summary), "notes": notes})
    else:
        print("\n".join(topology_lines(summary, None if args.verbose else _LISTED)))
    return 0


def _convert(args: argparse.Namespace) -> int:
    notes: list[str] = []
    topology = _network(args, notes)
    source = args.topology if not Path(args.topology).exists() else Path(args.topology).name
    comment = "\n".join(map(one_line, [f"Converted from {source} by kuijia topology convert.", *notes]))
    try:
        text = topology_yaml(topology, comment)
    except UnsoundError as error:
        raise InputError(args.topology, "", error.problem, error.expected) from error
    if args.output is not None:
        write_text(args.output, text)
    if args.json:
        print(json.dumps(topology_as_data(topology), indent=2, ensure_ascii=False))
    elif args.output is None:
        print(text, end="")
    else:
        print(f"wrote {args.output}")
    return 0


def _as_json(summary: TopologySummary) -> dict[str, Any]:
    """Return the summary as JSON data; keys in JSON are texts, so a mapping of numbers becomes a list of pairs."""
    paths = summary.disjoint_paths
    return {
        **asdict(summary),
        "capacities": [{"capacity": capacity, "links": links} for capacity, links in summary.capacities.items()],
        "disjoint_paths": {
            "pairs": [{"paths": number, "pairs": pairs} for number, pairs in paths.pairs.items()],
            "ordered": paths.ordered,
            "exact": paths.exact,
        },
        "edge_connectivity": paths.edge_connectivity,
    }
