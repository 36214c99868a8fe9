"""`kuijia solve`: makes a plan from a topology and demands."""

from __future__ import annotations

import argparse
from pathlib import Path

from kuijia.api.plan_summary import plan_summary
from kuijia.api.solving import SolveOptions, planned
from kuijia.cli.inputs import (
    add_demands,
    add_paths,
    add_topology,
    add_tunnels,
    read_demands,
    read_topology,
)
from kuijia_base.additions import require_installed
from kuijia_base.errors import InputError
from kuijia_base.option_values import PICTURE_SUFFIXES, path_name, picture_path
from kuijia_base.options import add_options, from_arguments, typed_options
from kuijia_base.picture_file import LIBRARY
from kuijia_base.progress import progress_line
from kuijia_base.text import require_writable, write_bytes
from te_solver.formats.plan_file import plan_text
from te_solver.model.plan import MOST_PATHS

_LISTED = 10
"""Lines that each part of the summary has at most, unless -v asks for all."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_topology(parser)
    add_demands(parser)
    add_tunnels(parser, MOST_PATHS)
    add_paths(parser)
    add_options(parser, SolveOptions)
    parser.add_argument("-o", "--output", type=path_name, metavar="PLAN", help="write the plan to this file (JSON)")
    parser.add_argument(
        "--plot",
        type=picture_path,
        metavar="FILE",
        help=f"draw the network with its utilisations: file ending in {', '.join(PICTURE_SUFFIXES)}",
    )


def run(args: argparse.Namespace) -> int:
    how = from_arguments(SolveOptions, args)
    with typed_options():
        how.require_sense()
    _require_usable(args)
    topology = read_topology(args)
    demands = read_demands(args, topology)
    with progress_line() as progress, typed_options():
        plan = planned(topology, demands, how, args.demands, progress)
    contents = {}
    if args.plot is not None:
        from te_solver.pictures.plan_picture import plan_picture  # noqa: PLC0415  # takes a second to import, like the optimiser

        contents[args.plot] = plan_picture(plan, args.plot.suffix, args.seed)
    if args.output is not None:
        contents[args.output] = plan_text(plan).encode()
    for path, content in contents.items():
        write_bytes(path, content)
    if args.json:
        print(plan_text(plan), end="")
    else:
        print("\n".join(plan_summary(plan, args.tunnels, None if args.verbose else _LISTED)))
        if plan.options and (plan.options.partitions or 1) > 1 and plan.upper_bound is None:
            print("loss by solving in parts: unknown for several classes of traffic")
        for path in contents:
            print(f"wrote {path}")
    return 0


def _require_usable(args: argparse.Namespace) -> None:
    """Raise InputError unless the output files can be written and differ from each other and from the input files."""
    if args.plot is not None:
        require_installed(LIBRARY, "--plot")
    taken = [Path(name) for name in (args.topology, args.demands) if name is not None]
    for path in (args.output, args.plot):
        if path is None:
            continue
        require_writable(path)
        if any(path.resolve() == other.resolve() for other in taken):
            raise InputError(path, "", "is used twice by this command", "a different file")
        taken.append(path)
