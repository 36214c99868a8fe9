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
from kuijia.cli.common_options import add_alias
from kuijia.cli.inputs import (
    DEFAULT_TUNNELS,
    MOST_PARTS,
    add_demands,
    add_topology,
    add_tunnels,
    announce,
    read_demands,
    read_topology,
)
from kuijia.cli.notes import print_notes
from kuijia.cli.whatif_failures import (
    FAILURES,
    NONE,
    TOPOLOGY,
    chosen_failures,
    chosen_probabilities,
    default_probabilities,
)
from kuijia_base.errors import InputError, quoted
from kuijia_base.extras import command_for, is_installed
from kuijia_base.option_values import whole_number
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import LIBRARY, picture_bytes
from kuijia_base.progress import Progress
from kuijia_base.suggestion import unknown
from te_solver.demands import Demand
from te_solver.failure_probabilities import PUBLISHED
from te_solver.failures import Failure
from te_solver.plan import MAX_TUNNELS_PER_PAIR, Plan
from te_solver.plan_file import load_plan
from te_solver.programs.registry import MAX_THROUGHPUT, objective_names
from te_solver.topology import Topology

if TYPE_CHECKING:
    from experiments.whatif.study import Provenance, Study
    from simulator.flow.what_if import Contender, Outcome

_DEFAULT_SCHEMES = ("kuijia", "rescaling", "precomputed", "ffc", "recompute")

_WORST = 5
"""Worst failures in the summary of each scheme, unless -v asks for all."""

_WORTH_PROCESSES = 500_000
"""Tunnels times failures from which on more processes save more time than their start takes."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_topology(parser, required=False)
    add_demands(parser, required=False)
    add_tunnels(parser)
    parser.add_argument(
        "--plan", type=Path, metavar="PLAN", help="plan file to examine, in place of TOPOLOGY and DEMANDS"
    )
    parser.add_argument(
        "--node-disjoint", action="store_true", help="tunnels of a pair have no node in common where possible"
    )
    parser.add_argument(
        "--objective",
        choices=objective_names(),
        help=f"objective of the plan that the schemes work on; ffc has its own (default: {MAX_THROUGHPUT})",
    )
    parser.add_argument(
        "--partitions",
        type=whole_number(1, MOST_PARTS),
        metavar="P",
        help=f"solve --objective {MAX_THROUGHPUT} in P parts on all processors",
    )
    parser.add_argument(
        "--schemes",
        type=_names,
        metavar="NAMES",
        help=f"schemes to compare, separated by commas (default: {','.join(_DEFAULT_SCHEMES)}; ffc is left out where "
        "it can protect no pair)",
    )
    add_alias(parser, "--scheme", "--schemes")
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
        help="probabilities of links or failures, for availability: a CSV file, those of the topology's file "
        f"({TOPOLOGY}, the default if it has some), {NONE}, or published: {', '.join(PUBLISHED)}",
    )
    add_workers(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="folder for the report, its pictures and all numbers"
    )


def run(args: argparse.Namespace) -> int:
    # The optimiser takes a second to import; --help and bad input should not wait for it.
    assumptions: list[str] = []
    plan, topology, demands = _inputs(args, assumptions)
    progress = Progress(sys.stderr)
    announce(topology, progress)
    failures = chosen_failures(args.failures, topology, args.sample, args.seed)
    if args.probabilities is None:
        probabilities = default_probabilities(str(args.topology), topology, failures)
        args.probabilities = None if probabilities is None else TOPOLOGY
    else:
        probabilities = chosen_probabilities(args.probabilities, topology, failures)
    from experiments.whatif.study import Likelihood, Study  # noqa: PLC0415  # slow to import: NumPy
    from kuijia.cli.whatif_contenders import Asked, contenders  # noqa: PLC0415  # slow to import: CVXPY
    from kuijia.cli.whatif_provenance import provenance  # noqa: PLC0415  # slow to import: NumPy
    from kuijia.cli.whatif_report import as_csv, as_json, summary  # noqa: PLC0415  # slow to import: NumPy
    from te_solver.schemes.registry import scheme_names  # noqa: PLC0415  # slow to import: CVXPY

    asked = Asked(args.schemes or _DEFAULT_SCHEMES, args.schemes is None, plan, str(args.plan or args.demands))
    for name in asked.schemes:
        if name not in scheme_names():
            raise InputError(
                "option", "--schemes", unknown(name, scheme_names()), f"one of {', '.join(scheme_names())}"
            )
    _require_used(args, asked.schemes)
    folder = None if args.output is None else OutputFolder(args.output)
    try:
        compared = contenders(args, asked, topology, demands, progress)
        args.schemes = tuple(each.scheme.name for each in compared)
        with _outcomes(args, compared, failures, folder, progress) as outcomes:
            likelihood = None if probabilities is None else Likelihood(args.probabilities, probabilities)
            study = Study(topology, compared, failures, outcomes, likelihood)
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


def _inputs(args: argparse.Namespace, assumptions: list[str]) -> tuple[Plan | None, Topology, Sequence[Demand]]:
    """Return the network and its demands, from their files or from a plan, and that plan."""
    _require_alone(args)
    if args.plan is None:
        topology = read_topology(args, assumptions)
        return None, topology, read_demands(args, topology)
    plan = load_plan(args.plan)
    demands = [Demand(pair.source, pair.target, pair.demand, pair.priority) for pair in plan.pairs]
    return plan, plan.topology, demands


def _require_alone(args: argparse.Namespace) -> None:
    """Raise InputError unless there are a topology and demands, or a plan without options on making one."""
    if args.plan is None:
        if args.demands is None:
            missing = "DEMANDS" if args.topology is not None else "TOPOLOGY and DEMANDS"
            raise InputError("kuijia whatif", "", f"{missing} missing", "TOPOLOGY and DEMANDS, or --plan PLAN")
        if args.partitions is not None and args.objective not in (None, MAX_THROUGHPUT):
            problem = f"{args.objective} is not solved in parts"
            raise InputError("option", "--partitions", problem, f"--objective {MAX_THROUGHPUT}")
        return
    if args.topology is not None:
        raise InputError("option", "--plan", "the plan has a topology and demands itself", "neither of them besides")
    for option, given in (
        ("--objective", args.objective is not None),
        ("--partitions", args.partitions is not None),
        ("--node-disjoint", args.node_disjoint),
        ("--tunnels", args.tunnels != DEFAULT_TUNNELS),
    ):
        if given:
            raise InputError("option", option, "the plan has its tunnels and rates", f"--plan without {option}")


def _require_used(args: argparse.Namespace, compared: Sequence[str]) -> None:
    """Raise InputError for options of schemes that are not compared."""
    for option, given, schemes in (
        ("--protect", args.protect is not None, ("ffc",)),
        ("--split", args.split != "proportional", ("kuijia", "rescaling")),
        ("--new-tunnels", args.new_tunnels, ("recompute",)),
    ):
        if given and not set(schemes) & set(compared):
            expected = f"{' or '.join(schemes)} in --schemes"
            raise InputError("option", option, "none of the compared schemes has this option", expected)


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
