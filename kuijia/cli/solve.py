"""`kuijia solve`: makes a plan from a topology and demands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

from kuijia.api.plan_summary import plan_summary
from kuijia.api.progress import progress_line
from kuijia.api.solving import DEFAULT_SOLVER, MOST_FAILURES, MOST_PARTS, Solving, objective_choices, planned
from kuijia.cli.inputs import (
    add_demands,
    add_paths,
    add_topology,
    add_tunnels,
    announce,
    read_demands,
    read_topology,
)
from kuijia_base.errors import InputError
from kuijia_base.extras import require_installed
from kuijia_base.option_values import PICTURE_SUFFIXES, path_name, picture_path, whole_number
from kuijia_base.options import typed_options
from kuijia_base.picture_file import LIBRARY
from kuijia_base.text import require_writable, write_bytes
from te_solver.formats.plan_file import plan_text
from te_solver.model.demands import Demand
from te_solver.model.plan import MOST_PATHS, Plan, Weight
from te_solver.model.topology import Topology
from te_solver.programs.effort import PAIRS_OF_A_PART, PAIRS_OF_ONE_PROGRAM
from te_solver.programs.registry import FFC, MAX_THROUGHPUT, objective_names

_LISTED = 10
"""Lines that each part of the summary has at most, unless -v asks for all."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_topology(parser)
    add_demands(parser)
    add_tunnels(parser, MOST_PATHS)
    add_paths(parser)
    parser.add_argument(
        "--tunnel-weight",
        choices=get_args(Weight),
        default="hops",
        help="metric that tunnels minimise (default: %(default)s)",
    )
    parser.add_argument(
        "--node-disjoint", action="store_true", help="tunnels of a pair have no node in common where possible"
    )
    parser.add_argument(
        "--objective",
        choices=objective_choices(),
        metavar="NAME",
        default=MAX_THROUGHPUT,
        help="objective to optimise, with its settings if any, as in swan:alpha=1.5: "
        f"{', '.join(objective_names())} (default: %(default)s)",
    )
    parser.add_argument(
        "--protect",
        type=whole_number(1, MOST_FAILURES),
        metavar="K",
        help=f"failed links that a plan of --objective {FFC} survives without loss (default: 1)",
    )
    parser.add_argument(
        "--spread", action="store_true", help="use all tunnels of a pair equally instead of preferring shorter ones"
    )
    parser.add_argument(
        "--solver",
        default=DEFAULT_SOLVER,
        metavar="NAME",
        help="solver to use, any that CVXPY finds installed (default: %(default)s)",
    )
    parser.add_argument(
        "--reproducible",
        action="store_true",
        help="leave out the solver's time: the same input gives the same bytes",
    )
    parser.add_argument(
        "--partitions",
        type=whole_number(1, MOST_PARTS),
        metavar="P",
        help=f"solve --objective {MAX_THROUGHPUT} in P parts on all processors, and report the largest possible loss "
        f"(default: 1, which is one program; with more than {PAIRS_OF_ONE_PROGRAM:,} demands one for each "
        f"{PAIRS_OF_A_PART:,})",
    )
    parser.add_argument("-o", "--output", type=path_name, metavar="PLAN", help="write the plan to this file (JSON)")
    parser.add_argument(
        "--plot",
        type=picture_path,
        metavar="FILE",
        help=f"draw the network with utilisations, into a file that ends in {', '.join(PICTURE_SUFFIXES)}",
    )


def run(args: argparse.Namespace) -> int:
    how = Solving(**{field.name: getattr(args, field.name) for field in fields(Solving)})
    with typed_options():
        how.require_sense()
    _require_usable(args)
    topology = read_topology(args)
    plan, how = _plan(topology, read_demands(args, topology), how, args)
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
        if (how.partitions or 1) > 1 and plan.upper_bound is None:
            print("loss by solving in parts: unknown for several classes of traffic")
        for path in contents:
            print(f"wrote {path}")
    return 0


def _plan(
    topology: Topology, demands: Sequence[Demand], how: Solving, args: argparse.Namespace
) -> tuple[Plan, Solving]:
    """Return the plan, and the options with the number of parts that it was solved in."""
    with progress_line() as progress, typed_options():
        announce(topology, progress)
        how = how.sized(demands, progress.say)
        plan = planned(topology, demands, how, args.demands, progress)
    return (replace(plan, solve_seconds=0.0) if args.reproducible else plan), how


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
