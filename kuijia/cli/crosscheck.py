"""`kuijia crosscheck`: compares the model behind `verify` and `trace` with a real Open vSwitch."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict
from pathlib import Path

from kuijia.cli.printing import print_json
from kuijia.cli.table_options import add_table_options, build, option_words
from kuijia_app.tables.options import OptionWords
from kuijia_base.additions import require_linux
from kuijia_base.errors import InputError
from kuijia_base.option_values import whole_number
from kuijia_base.progress import Progress
from kuijia_base.quantities import counted
from testbed.crosscheck.crosscheck import CrossCheck, cross_check
from testbed.crosscheck.random_cases import RandomPlan

DEFAULT_CASES = 10_000
_MOST_CASES = 10_000_000
_LISTED = 20


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "plan",
        nargs="?",
        type=Path,
        metavar="PLAN",
        help="compare the tables of this plan, made with the options below (default: random plans and options)",
    )
    add_table_options(parser)
    parser.add_argument(
        "--cases",
        type=whole_number(1, _MOST_CASES),
        default=DEFAULT_CASES,
        metavar="N",
        help="random (plan, failure, packet) cases to compare (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    require_linux()
    case = _given(args)
    progress = Progress(sys.stderr)
    started = time.monotonic()

    def show(found: CrossCheck) -> None:
        progress.show(
            f"{found.cases:,} of {args.cases:,} cases, {counted(len(found.disagreements), 'disagreement')}",
            found.cases,
            args.cases,
        )

    try:
        found = cross_check(args.cases, args.seed, show, case)
    finally:
        progress.close()
    seconds = time.monotonic() - started
    if args.json:
        print_json("crosscheck", {**asdict(found), "seed": args.seed, "seconds": seconds})
    else:
        for line in found.disagreements[: None if args.verbose else _LISTED]:
            print(line)
        print(
            f"{counted(found.cases, 'case')} ({counted(found.plans, 'plan')}, {counted(found.failures, 'failure')}), "
            f"{counted(found.hops, 'hop')} in real switches, {counted(len(found.disagreements), 'disagreement')}, "
            f"{seconds:.1f} s"
        )
    return 1 if found.disagreements else 0


def _given(args: argparse.Namespace) -> RandomPlan | None:
    """Return the plan of the command line with its options, None for random ones."""
    if args.plan is None:
        if option_words(args) != OptionWords():
            raise InputError("option", "PLAN", "is missing", "a plan, to which the options on tables apply")
        return None
    built = build(args)
    if not built.plan.tunnels:
        raise InputError(args.plan, "pairs", "no tunnels", "a plan with traffic")
    return RandomPlan(built.plan, built.options)
