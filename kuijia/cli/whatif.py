"""`kuijia whatif`: finds the loss of each pair after each failure, under each scheme, by the fluid model."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from kuijia.api.solving import DEFAULT_TUNNELS, MOST_PARTS
from kuijia.api.whatif_failures import (
    FAILURES,
    NONE,
    TOPOLOGY,
    chosen_failures,
    chosen_probabilities,
    default_probabilities,
)
from kuijia.api.whatif_packets import PACKET, on_switches, plans_of, refuse_others
from kuijia.api.whatif_study import (
    DEFAULT_SCHEMES,
    SPLIT_NAMES,
    WEIGHTING_NAMES,
    Planning,
    Rerouting,
    outcomes_of,
    write_report,
    write_results,
)
from kuijia.cli import whatif_packets
from kuijia.cli.common_options import add_alias
from kuijia.cli.inputs import (
    add_demands,
    add_paths,
    add_topology,
    add_tunnels,
    announce,
    objective_choices,
    read_demands,
    read_topology,
)
from kuijia.cli.notes import print_notes
from kuijia.cli.printing import show
from kuijia_base.errors import InputError, quoted
from kuijia_base.extras import command_for, is_installed
from kuijia_base.option_values import folder_or_page, whole_number
from kuijia_base.options import typed_options
from kuijia_base.picture_file import LIBRARY
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import add_workers, workers_from
from te_solver.demands import Demand
from te_solver.effort import PAIRS_OF_A_PART, PAIRS_OF_ONE_PROGRAM
from te_solver.failure_probabilities import PUBLISHED, FailureProbabilities
from te_solver.failures import Failure
from te_solver.plan import MAX_TUNNELS_PER_PAIR, MOST_PATHS, Plan
from te_solver.plan_file import load_plan
from te_solver.programs.registry import MAX_THROUGHPUT
from te_solver.topology import Topology
from te_solver.topology_file import document_kind

if TYPE_CHECKING:
    from simulator.flow.what_if import Contender

_WORST = 5
"""Worst failures in the summary of each scheme, unless -v asks for all."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_topology(parser, required=False)
    add_demands(parser)
    add_tunnels(parser, MOST_PATHS)
    add_paths(parser)
    parser.add_argument(
        "--plan",
        type=Path,
        metavar="PLAN",
        help="plan file to examine, in place of TOPOLOGY and DEMANDS; the option's name may be left out",
    )
    parser.add_argument(
        "--node-disjoint", action="store_true", help="tunnels of a pair have no node in common where possible"
    )
    parser.add_argument(
        "--objective",
        choices=objective_choices(),
        metavar="NAME",
        help=f"objective of the plan that the schemes work on; ffc has its own (default: {MAX_THROUGHPUT})",
    )
    parser.add_argument(
        "--partitions",
        type=whole_number(1, MOST_PARTS),
        metavar="P",
        help=f"solve --objective {MAX_THROUGHPUT} in P parts on all processors (default: 1, which is one program; with "
        f"more than {PAIRS_OF_ONE_PROGRAM:,} demands one for each {PAIRS_OF_A_PART:,})",
    )
    parser.add_argument(
        "--schemes",
        type=_names,
        metavar="NAMES",
        help=f"schemes to compare, separated by commas (default: {','.join(DEFAULT_SCHEMES)}; ffc is left out where "
        "it can protect no pair)",
    )
    add_alias(parser, "--scheme", "--schemes")
    parser.add_argument(
        "--failures",
        default="links",
        metavar="WHICH",
        help=f"every single link, pair of links or node ({', '.join(FAILURES)}; default: %(default)s), several of "
        "these separated by commas; links A-B and nodes, separated by commas; or a file of failures (CSV)",
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
        choices=SPLIT_NAMES,
        default=SPLIT_NAMES[0],
        help="kuijia, rescaling: division of the victims of several failed tunnels, by the weights of all live "
        "tunnels, or as preprogrammed switches do it (default: %(default)s)",
    )
    parser.add_argument("--new-tunnels", action="store_true", help="recompute: replace failed tunnels by new ones")
    parser.add_argument(
        "--udp", action="store_true", help="traffic is UDP, which does not slow down on loss, instead of TCP"
    )
    parser.add_argument(
        "--weighting",
        choices=WEIGHTING_NAMES,
        default=WEIGHTING_NAMES[0],
        help="weight of a tunnel's traffic on a full link: that of one TCP connection, or of one for each Mbit/s that "
        "it offers (default: %(default)s)",
    )
    parser.add_argument(
        "--probabilities",
        metavar="WHICH",
        help="probabilities of links or failures, for availability: a CSV file, those of the topology's file "
        f"({TOPOLOGY}, the default if it has some), {NONE}, or published: {', '.join(PUBLISHED)}",
    )
    whatif_packets.configure(parser)
    add_workers(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=folder_or_page,
        metavar="DIR",
        help="folder for the report, its pictures and all numbers, or FILE.html for the report alone",
    )


def run(args: argparse.Namespace) -> int:
    _take_plan(args)
    how = Rerouting(**{field.name: getattr(args, field.name) for field in fields(Rerouting)})
    tunnels = args.tunnels if args.tunnels != DEFAULT_TUNNELS else None
    planning = Planning(tunnels, args.node_disjoint, args.objective, args.partitions, args.seed, args.paths)
    with typed_options():
        refuse_others(args.backend, vars(args))
        if args.backend == PACKET:
            return _simulated(args, how, planning)
        return _compared(args, how, planning)


def _take_plan(args: argparse.Namespace) -> None:
    """Make a plan file in the place of TOPOLOGY the one of --plan."""
    if args.topology is not None and document_kind(Path(args.topology)) == "plan" and args.plan is None:
        if args.demands is not None:
            raise InputError(args.topology, 1, "a plan, which has demands itself", f"no {args.demands} after it")
        args.plan, args.topology = Path(args.topology), None


def _simulated(args: argparse.Namespace, how: Rerouting, planning: Planning) -> int:
    assumptions: list[str] = []
    known = _inputs(args, planning, assumptions)
    progress = Progress(sys.stderr)
    announce(known[1], progress)
    failures = chosen_failures(args.failures, known[1], args.sample, args.seed)
    source = str(args.plan or args.demands)
    how = on_switches(how, lambda words: print_notes(source, [words]))
    how.require_used()
    asked = whatif_packets.asked_from(args)
    try:
        plans = plans_of(_contenders(how, known, planning, source, progress), how)
        return whatif_packets.study(args, asked, plans, failures, progress, assumptions)
    finally:
        progress.close()


def _compared(args: argparse.Namespace, how: Rerouting, planning: Planning) -> int:
    assumptions: list[str] = []
    known = _inputs(args, planning, assumptions)
    topology = known[1]
    progress = Progress(sys.stderr)
    announce(topology, progress)
    failures = chosen_failures(args.failures, topology, args.sample, args.seed)
    probabilities = _probabilities(args, topology, failures)
    how.require_used()
    from kuijia.api.whatif_report import as_json, summary  # noqa: PLC0415  # slow to import: NumPy
    from kuijia.cli.whatif_provenance import provenance  # noqa: PLC0415  # slow to import: NumPy
    from simulator.studies.whatif.study import Likelihood, Study  # noqa: PLC0415  # slow to import: NumPy

    folder = whatif_packets.output_of(args)
    workers = None if args.workers is None and args.cluster is None else workers_from(args)
    try:
        contenders = _contenders(how, known, planning, str(args.plan or args.demands), progress)
        args.schemes = tuple(each.scheme.name for each in contenders)
        with outcomes_of(how, contenders, failures, workers, folder, progress) as outcomes:
            likelihood = None if probabilities is None else Likelihood(args.probabilities, probabilities)
            study = Study(topology, contenders, failures, outcomes, likelihood)
            made = provenance(args, assumptions)
            data = as_json(study, made)
            if folder is not None:
                write_results(folder, study, data)
                if is_installed(LIBRARY):
                    write_report(folder, study, made, args.seed)
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
    show(summary(study, None if args.verbose else _WORST))
    if folder is not None:
        print(f"wrote {', '.join(str(folder.path / name) for name in folder.written)}")
    return 0


def _inputs(
    args: argparse.Namespace, planning: Planning, assumptions: list[str]
) -> tuple[Plan | None, Topology, Sequence[Demand]]:
    """Return the network and its demands, from their files or from a plan, and that plan."""
    _require_alone(args, planning)
    if args.plan is None:
        topology = read_topology(args, assumptions)
        return None, topology, read_demands(args, topology)
    plan = load_plan(args.plan)
    demands = [Demand(pair.source, pair.target, pair.demand, pair.priority) for pair in plan.pairs]
    return plan, plan.topology, demands


def _require_alone(args: argparse.Namespace, planning: Planning) -> None:
    """Raise InputError unless there is a topology, or a plan without options on making one."""
    if args.plan is None:
        if args.topology is None:
            raise InputError("kuijia whatif", "", "TOPOLOGY missing", "TOPOLOGY and DEMANDS, or a plan")
        planning.require_sense()
        return
    if args.topology is not None:
        raise InputError("option", "--plan", "the plan has a topology and demands itself", "neither beside it")
    planning.refuse()


def _probabilities(
    args: argparse.Namespace, topology: Topology, failures: Sequence[Failure]
) -> FailureProbabilities | None:
    """Return the probabilities that the options choose, by default those of the topology's file."""
    notes: list[str] = []
    if args.probabilities is None:
        source = str(args.topology)
        found = default_probabilities(topology, failures, notes.append)
        args.probabilities = None if found is None else TOPOLOGY
    else:
        source = args.probabilities
        found = chosen_probabilities(source, topology, failures, notes.append)
    print_notes(source, notes)
    return found


def _contenders(
    how: Rerouting,
    known: tuple[Plan | None, Topology, Sequence[Demand]],
    planning: Planning,
    source: str,
    progress: Progress,
) -> list[Contender]:
    # The optimiser takes a second to import; --help and bad input should not wait for it.
    from kuijia.api.whatif_contenders import contenders_of, plans_for, plans_from  # noqa: PLC0415  # slow: CVXPY

    def say(words: str) -> None:
        print_notes(source, [words])

    plan, topology, demands = known
    if plan is not None:
        plans = plans_from(plan, demands, how.protect, source, progress, say)
    else:
        plans = plans_for(topology, demands, planning, how.protect, source, progress, say)
    return contenders_of(how, plans, say)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if "" in names:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected names separated by commas")
    return names
