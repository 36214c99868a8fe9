"""`kuijia whatif`: finds the loss of each pair after each failure, under each scheme, by the fluid model."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.sweep.workers import Workers, add_workers, workers_from
from kuijia.cli.inputs import add_demands, add_topology, add_tunnels, announce, read_demands, read_topology
from kuijia.cli.notes import print_notes
from kuijia.cli.whatif_failures import FAILURES, chosen_failures, chosen_probabilities
from kuijia_base.errors import InputError, UnsoundError, quoted
from kuijia_base.extras import command_for, is_installed
from kuijia_base.option_values import whole_number
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import LIBRARY, picture_bytes
from kuijia_base.progress import Progress
from te_solver.demands import Demand
from te_solver.failure_probabilities import PUBLISHED
from te_solver.failures import Failure
from te_solver.plan import MAX_TUNNELS_PER_PAIR
from te_solver.programs.registry import MAX_THROUGHPUT
from te_solver.topology import Topology
from te_solver.tunnels import TunnelFinder

if TYPE_CHECKING:
    from experiments.whatif.study import Provenance, Study
    from simulator.flow.what_if import Contender, Outcome

_DEFAULT_SCHEMES = ("kuijia", "rescaling", "precomputed", "ffc", "recompute")

_WORST = 5
"""Worst failures in the summary of each scheme, unless -v asks for all."""

_WORTH_PROCESSES = 500_000
"""Tunnels times failures from which on more processes save more time than their start takes."""


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
        help=f"every single link, pair of links or node ({', '.join(FAILURES)}; default: %(default)s), several of "
        "these separated by commas, or a file of failures (CSV)",
    )
    parser.add_argument(
        "--sample",
        type=whole_number(1, 10**9, expected="a whole number, one or more"),
        metavar="N",
        help="at most N failures of each kind, drawn by --seed",
    )
    parser.add_argument(
        "--protect",
        type=whole_number(1, MAX_TUNNELS_PER_PAIR - 1, of=" failed links"),
        metavar="K",
        help="ffc: number of failed links that its plan survives without loss (default: 1)",
    )
    parser.add_argument(
        "--split",
        choices=("proportional", "failover-order"),
        default="proportional",
        help="kuijia, rescaling: division of the victims of several failed tunnels, by the weights of all live "
        "tunnels, or as preprogrammed switches do it (default: %(default)s)",
    )
    parser.add_argument("--new-tunnels", action="store_true", help="recompute: replace failed tunnels by new ones")
    parser.add_argument(
        "--udp", action="store_true", help="traffic is UDP, which does not slow down on loss, instead of TCP"
    )
    parser.add_argument(
        "--weighting",
        choices=("equal", "offered"),
        default="equal",
        help="weight of a tunnel's traffic on a full link: that of one TCP connection, or of one for each Mbit/s that "
        "it offers (default: %(default)s)",
    )
    parser.add_argument(
        "--probabilities",
        metavar="WHICH",
        help=f"probabilities of links or failures, for availability: a CSV file, or published: {', '.join(PUBLISHED)}",
    )
    add_workers(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="folder for the report, its pictures and all numbers"
    )


def run(args: argparse.Namespace) -> int:
    # The optimiser takes a second to import; --help and bad input should not wait for it.
    assumptions: list[str] = []
    topology = read_topology(args, assumptions)
    demands = read_demands(args, topology)
    progress = Progress(sys.stderr)
    announce(topology, progress)
    failures = chosen_failures(args.failures, topology, args.sample, args.seed)
    probabilities = None if args.probabilities is None else chosen_probabilities(args.probabilities, topology, failures)
    from experiments.whatif.study import Likelihood, Study  # noqa: PLC0415  # slow to import: NumPy
    from kuijia.cli.whatif_provenance import provenance  # noqa: PLC0415  # slow to import: NumPy
    from kuijia.cli.whatif_report import as_csv, as_json, summary  # noqa: PLC0415  # slow to import: NumPy
    from te_solver.schemes.registry import scheme_names  # noqa: PLC0415  # slow to import: CVXPY

    for name in args.schemes:
        if name not in scheme_names():
            raise InputError("option", "--schemes", f"{name!r} is unknown", f"one of {', '.join(scheme_names())}")
    _require_used(args)
    folder = None if args.output is None else OutputFolder(args.output)
    try:
        contenders = _contenders(args, topology, demands, progress)
        with _outcomes(args, contenders, failures, folder, progress) as outcomes:
            likelihood = None if probabilities is None else Likelihood(args.probabilities, probabilities)
            study = Study(topology, contenders, failures, outcomes, likelihood)
            made = provenance(args, assumptions)
            data = as_json(study, made)
            if folder is not None:
                folder.write_json("whatif.json", data)
                folder.write_text("whatif.csv", as_csv(outcomes))
                if is_installed(LIBRARY):
                    _write_report(folder, study, made, args.seed)
                else:
                    without = f"no report and no pictures without {LIBRARY}: {command_for(LIBRARY)}"
                    print_notes(str(folder.path), [without])
    finally:
        progress.close()
        if folder is not None:
            folder.remove_if_empty()
    if args.json:
        print(json.dumps(data, indent=1, allow_nan=False))
        return 0
    print("\n".join(summary(study, None if args.verbose else _WORST)))
    if folder is not None:
        print(f"wrote {', '.join(str(folder.path / name) for name in folder.written)}")
    return 0


def _write_report(folder: OutputFolder, study: Study, provenance: Provenance, seed: int) -> None:
    from experiments.whatif.figures import figures  # noqa: PLC0415  # slow to import: matplotlib
    from experiments.whatif.html_report import html_report  # noqa: PLC0415  # slow to import: matplotlib

    folder.write_text("whatif.html", html_report(study, provenance, seed))
    for name, figure in figures(study).items():
        for suffix in (".svg", ".pdf"):
            folder.write_bytes(f"{name}{suffix}", picture_bytes(figure, suffix))


def _require_used(args: argparse.Namespace) -> None:
    """Raise InputError for options of schemes that are not compared."""
    for option, given, schemes in (
        ("--protect", args.protect is not None, ("ffc",)),
        ("--split", args.split != "proportional", ("kuijia", "rescaling")),
        ("--new-tunnels", args.new_tunnels, ("recompute",)),
    ):
        if given and not set(schemes) & set(args.schemes):
            expected = f"{' or '.join(schemes)} in --schemes"
            raise InputError("option", option, "none of the compared schemes has this option", expected)


def _contenders(
    args: argparse.Namespace, topology: Topology, demands: Sequence[Demand], progress: Progress
) -> list[Contender]:
    """Return each scheme with its plan: for maximum throughput, or for the objective that the scheme needs."""
    from simulator.flow.what_if import Contender  # noqa: PLC0415  # slow to import: NumPy
    from te_solver.programs.program import Options  # noqa: PLC0415  # slow to import: CVXPY
    from te_solver.resolve import WarmThroughput  # noqa: PLC0415  # slow to import: CVXPY
    from te_solver.schemes.interface import SchemeOptions  # noqa: PLC0415  # slow to import: NumPy
    from te_solver.schemes.registry import SPLITS, make_scheme  # noqa: PLC0415  # slow to import: CVXPY
    from te_solver.schemes.traffic import PlannedTraffic  # noqa: PLC0415  # slow to import: NumPy
    from te_solver.solve import solve  # noqa: PLC0415  # slow to import: CVXPY
    from te_solver.tunnel_table import ParallelFinder  # noqa: PLC0415  # slow to import: NumPy

    show = progress.patiently()

    def tell(done: int, of: int) -> None:
        show(f"{done:,} of {of:,} pairs have their tunnels")

    finder = ParallelFinder(TunnelFinder(topology), tell)
    traffic: dict[str, PlannedTraffic] = {}
    found: list[Contender] = []
    for name in args.schemes:
        solver = WarmThroughput()
        scheme = make_scheme(name, solver, SchemeOptions(SPLITS[args.split], new_tunnels=args.new_tunnels))
        objective = scheme.plan_objective or MAX_THROUGHPUT
        if objective not in traffic:
            try:
                options = Options(protect=args.protect or 1)
                plan = solve(
                    topology, demands, args.tunnels, objective, options=options, finder=finder, source=args.demands
                )
            except UnsoundError as error:
                option = f"--schemes {name}" if args.protect is None else f"--{error.where[0]}"
                raise InputError("option", option, error.problem, error.expected) from error
            traffic[objective] = PlannedTraffic.of(plan)
        mine = traffic[objective]
        # Whatever is solved first decides between equally good answers: always the plan's own problem.
        solver(mine.tunnels.incidence, mine.capacity, mine.demand)
        found.append(Contender(scheme, mine))
    return found


def _outcomes(
    args: argparse.Namespace,
    contenders: Sequence[Contender],
    failures: Sequence[Failure],
    folder: OutputFolder | None,
    progress: Progress,
) -> AbstractContextManager[list[Outcome]]:
    from experiments.whatif.sweep import Questions, outcomes_of  # noqa: PLC0415  # slow to import: NumPy

    questions = Questions(contenders, failures, elastic=not args.udp, weighting=args.weighting)
    options = {"split": args.split, "new_tunnels": args.new_tunnels}
    tunnels = sum(contender.traffic.sent.size for contender in contenders)
    asked = args.workers is not None or args.cluster is not None
    small = tunnels * len(failures) < _WORTH_PROCESSES and not asked
    return outcomes_of(questions, options, Workers(1) if small else workers_from(args), folder, progress)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if "" in names:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected names separated by commas")
    return names
