"""`kuijia whatif`: which failure would hurt whom, under each scheme, by the fluid model."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.output import OutputFolder
from experiments.progress import Progress
from kuijia_app.cli.inputs import add_demands, add_topology, add_tunnels, read_demands, read_topology
from te_solver.demands import Demand
from te_solver.errors import InputError, UnsoundError
from te_solver.failures import Failure, link_pairs, single_links, single_nodes
from te_solver.failures_file import load_failures
from te_solver.topology import Topology

if TYPE_CHECKING:
    from simulator.flow.what_if import Contender, Outcome

HELP = "tell which failures of a network would hurt which traffic, and what each scheme would change"

_FAILURES = {"links": single_links, "pairs": link_pairs, "nodes": single_nodes}

_DEFAULT_SCHEMES = ("kuijia", "rescaling", "precomputed", "ffc", "recompute")

_WORST = 5
"""Failures that the summary names for each scheme, unless -v asks for all."""

_PATIENCE_SECONDS = 2.0
"""How long the work may take before it is commented on."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_topology(parser)
    add_demands(parser)
    add_tunnels(parser)
    parser.add_argument(
        "--schemes",
        type=_names,
        default=_DEFAULT_SCHEMES,
        metavar="NAMES",
        help=f"schemes to compare, separated by commas (default: {','.join(_DEFAULT_SCHEMES)})",
    )
    parser.add_argument(
        "--failures",
        default="links",
        metavar="WHICH",
        help=f"every single link, pair of links or node ({', '.join(_FAILURES)}; default: %(default)s), "
        "or a file of failures (CSV)",
    )
    parser.add_argument("--udp", action="store_true", help="traffic that does not yield to losses, instead of TCP")
    parser.add_argument(
        "--weighting",
        choices=("equal", "offered"),
        default="equal",
        help="what a tunnel's traffic is on a full link: one TCP connection, or as many as it offers Mbit/s "
        "(default: %(default)s)",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="write whatif.json and whatif.csv there")


def run(args: argparse.Namespace) -> int:
    # The optimiser takes a second to import, which neither --help nor bad input should cost.
    topology = read_topology(args)
    demands = read_demands(args, topology)
    failures = _failures(args.failures, topology)
    from kuijia_app.cli.whatif_report import as_csv, as_json, summary  # noqa: PLC0415
    from te_solver.schemes.registry import scheme_names  # noqa: PLC0415

    for name in args.schemes:
        if name not in scheme_names():
            raise InputError("option", "--schemes", f"{name!r} is unknown", f"one of {', '.join(scheme_names())}")
    folder = None if args.output is None else OutputFolder(args.output)
    progress = Progress(sys.stderr)
    try:
        contenders = _contenders(args, topology, demands, progress)
        outcomes = _outcomes(args, contenders, failures, progress)
        data = as_json(topology, contenders, outcomes)
        if folder is not None:
            folder.write_json("whatif.json", data)
            folder.write_text("whatif.csv", as_csv(outcomes))
    finally:
        progress.close()
        if folder is not None:
            folder.remove_if_empty()
    if args.json:
        import json  # noqa: PLC0415

        print(json.dumps(data, indent=1, allow_nan=False))
        return 0
    print("\n".join(summary(topology, contenders, outcomes, None if args.verbose else _WORST)))
    if folder is not None:
        print(f"wrote {', '.join(str(folder.path / name) for name in folder.written)}")
    return 0


def _failures(which: str, topology: Topology) -> tuple[Failure, ...]:
    if which in _FAILURES:
        found = tuple(_FAILURES[which](topology))
        expected = f"a network with {which}"
    elif Path(which).suffix:
        found = load_failures(Path(which), topology)
        expected = "a file with failures"
    else:
        raise InputError("option", "--failures", f"{which!r} is unknown", f"{', '.join(_FAILURES)} or a CSV file")
    if not found:
        raise InputError("option", "--failures", "nothing fails", expected)
    return found


def _contenders(
    args: argparse.Namespace, topology: Topology, demands: Sequence[Demand], progress: Progress
) -> list[Contender]:
    """Each scheme with its plan: of the greatest throughput, or of the objective that the scheme asks for."""
    from simulator.flow.what_if import Contender  # noqa: PLC0415
    from te_solver.programs.registry import MAX_THROUGHPUT  # noqa: PLC0415
    from te_solver.resolve import WarmThroughput  # noqa: PLC0415
    from te_solver.schemes.registry import make_scheme  # noqa: PLC0415
    from te_solver.schemes.traffic import PlannedTraffic  # noqa: PLC0415
    from te_solver.solve import solve  # noqa: PLC0415
    from te_solver.tunnel_table import ParallelFinder  # noqa: PLC0415
    from te_solver.tunnels import TunnelFinder  # noqa: PLC0415

    started = time.monotonic()

    def tell(done: int, of: int) -> None:
        if time.monotonic() - started > _PATIENCE_SECONDS:
            progress.show(f"{done:,} of {of:,} pairs have their tunnels")

    finder = ParallelFinder(TunnelFinder(topology), tell)
    traffic: dict[str, PlannedTraffic] = {}
    found: list[Contender] = []
    for name in args.schemes:
        solver = WarmThroughput()
        scheme = make_scheme(name, solver)
        objective = scheme.plan_objective or MAX_THROUGHPUT
        if objective not in traffic:
            try:
                plan = solve(topology, demands, args.tunnels, objective, finder=finder, source=args.demands)
            except UnsoundError as error:
                raise InputError("option", f"--schemes {name}", error.problem, error.expected) from error
            traffic[objective] = PlannedTraffic.of(plan)
        mine = traffic[objective]
        # Whatever is solved first decides between equally good answers: always the plan's own problem.
        solver(mine.tunnels.incidence, mine.capacity, mine.demand)
        found.append(Contender(scheme, mine))
    return found


def _outcomes(
    args: argparse.Namespace, contenders: Sequence[Contender], failures: Sequence[Failure], progress: Progress
) -> list[Outcome]:
    from simulator.flow.what_if import what_if  # noqa: PLC0415

    started = time.monotonic()
    total = len(contenders) * len(failures)
    found: list[Outcome] = []
    for outcome in what_if(contenders, failures, elastic=not args.udp, weighting=args.weighting):
        found.append(outcome)
        spent = time.monotonic() - started
        if spent > _PATIENCE_SECONDS:
            left = spent / len(found) * (total - len(found))
            progress.show(f"{outcome.scheme}: {len(found):,} of {total:,} cases, {left:.0f} s left")
    return found


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if "" in names:
        raise argparse.ArgumentTypeError(f"{text!r}, expected names separated by commas")
    return names
