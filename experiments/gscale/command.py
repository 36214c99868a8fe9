"""The evaluation on Gscale (section 5) for `kuijia run`: each of its tables and figures, and all of them as `gscale`.

They share their runs: a run that the folder already holds is not measured again.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial

from experiments.compared_schemes import add_schemes
from experiments.experiment import Options, Outcome, refuse_given
from experiments.grid import Execution, Offered, offered
from experiments.gscale.cases import (
    DEFAULT_READING,
    DEMANDS,
    EXPERIMENT,
    LINKS,
    READING_NAMES,
    REPETITIONS,
    TRAFFICS,
    Case,
    Edge,
    Traffic,
    grid,
)
from experiments.gscale.exhibits import MAKERS, exhibits_of, exhibits_of_files
from experiments.measuring.packet_options import add_conditions
from experiments.results.score import SizeBar
from kuijia_base.errors import InputError
from kuijia_base.option_values import different_ones
from kuijia_base.sweep.workers import refuse_workers
from kuijia_base.text import parse_number

DEFAULT_DEMANDS = (0.8, 1.2, 1.6)
QUICK_DEMANDS, QUICK_LINKS = (1.2,), (("7", "9"),)


def configure(options: Options) -> None:
    add_schemes(options)
    add_conditions(options)
    options.add_argument(
        "--traffic",
        type=different_ones(TRAFFICS),
        metavar="KIND[,KIND]",
        help=f"kinds of traffic among {', '.join(TRAFFICS)} (default: those that the experiment shows)",
    )
    options.add_argument(
        "--demands",
        type=different_ones(DEMANDS, parse_number),
        metavar="D[,D]",
        help=f"demand of every pair, as a share of a link: {_listed(DEMANDS)} (default: {_listed(DEFAULT_DEMANDS)}, "
        f"with --quick {_listed(QUICK_DEMANDS)}, with --full all)",
    )
    options.add_argument(
        "--links",
        type=different_ones(LINKS, _link, "-".join),
        metavar="A-B[,A-B]",
        help=f"links that fail, one at a time: {_listed(LINKS)} (default: all, with --quick {_listed(QUICK_LINKS)})",
    )
    options.add_argument(
        "--reading",
        choices=READING_NAMES,
        default=DEFAULT_READING,
        help="interpretation of the paper: shared (both directions of a link share its capacity in the plan, which an "
        "interior-point method solves, and a pair loses at most one tunnel), or directed (each direction has its own "
        "capacity) (default: %(default)s)",
    )
    options.add_argument(
        "--private-entries",
        action="store_true",
        help="give each flow its own entries and change them when a link fails, as in the paper, instead of groups",
    )


def cases_from(args: argparse.Namespace, traffics: Sequence[Traffic]) -> tuple[Case, ...]:
    """Return the cases that options ask for.

    Args:
        args: with the options of `configure`, and `quick`, `full`, `schemes` and `repetitions` of `kuijia run`.
        traffics: traffic that the experiment shows.

    Raises:
        InputError: the experiment does not show this traffic.
    """
    strange = [traffic for traffic in args.traffic or () if traffic not in traffics]
    if strange:
        problem = f"{args.experiment} does not show {', '.join(strange)}"
        raise InputError("option", "--traffic", problem, ", ".join(traffics))
    demands = args.demands or (DEMANDS if args.full else QUICK_DEMANDS if args.quick else DEFAULT_DEMANDS)
    links = args.links or (QUICK_LINKS if args.quick else LINKS)
    repetitions = args.repetitions or (REPETITIONS if args.full else 1)
    return grid(args.traffic or traffics, demands, links, args.schemes, repetitions, args.reading)


def _link(word: str) -> Edge | None:
    """Return a link by its ends, in either order."""
    ends = tuple(word.split("-"))
    return next((link for link in LINKS if ends in {link, link[::-1]}), None)


def _listed(values: Sequence[object]) -> str:
    return ", ".join("-".join(value) if isinstance(value, tuple) else f"{value}" for value in values)


_SINGLE: tuple[Traffic, ...] = ("tcp", "udp")
_TRAFFICS: Mapping[str, tuple[Traffic, ...]] = {
    "fig10": ("tcp",),
    "fig11": ("udp",),
    "fig12": ("tcp",),
    "fig13": ("udp",),
    "indirect": _SINGLE,
    "table4": ("tcp",),
    "fig14": ("priorities",),
    "fig16": ("priorities",),
    "gscale": (*_SINGLE, "priorities"),
}
"""Experiment to the traffic of its runs."""


def _run(traffics: Sequence[Traffic], run: Execution) -> Outcome:
    """Measure the cases without a valid result in the folder, then write the exhibits of an experiment from all cases.

    Raises:
        InputError: as `measure` raises it.
    """
    from experiments.gscale.campaign import measure  # noqa: PLC0415  # only on Linux

    cases = cases_from(run.args, traffics)
    if run.backend != "packet":
        _refuse_conditions(run.args, run.backend)
    outcome = measure(run, cases)
    names = tuple(each for each in MAKERS if run.name == EXPERIMENT or f"{each}-".startswith(f"{run.name}-"))
    failures = (f"{case}: {reason}" for case, reason in outcome.given_up.items())
    return run.written(*exhibits_of(outcome.results, names), failures=failures)


def _refuse_conditions(args: argparse.Namespace, backend: str) -> None:
    """Raise InputError for an option that only the packet simulator respects."""
    refuse_given(args, add_conditions, f"changes nothing in {args.experiment} on {backend}", "packet")
    refuse_workers(args, f"{args.experiment} on {backend} is not a sweep", [f"{args.experiment} --backend packet"])


_DRAWS = "the paper gives neither its pairs of sites nor its choice among the best plans (docs/gscale.md)"
SIZE_BARS = {
    # A point: "less than 1 %" is what the paper itself calls no loss.
    "fig1[0123]": SizeBar(1.0, cause=_DRAWS),
    "indirect": SizeBar(1.0),
    "table4": SizeBar(cause="which flows the paper has, and when they count as stable, is not known (docs/gscale.md)"),
    "fig16": SizeBar(cause="the paper's link, run and demand are not known"),
}

EXPERIMENTS = offered(
    {
        name: Offered(
            partial(_run, traffics),
            has_capacity=True,
            full=f"all demands, and {REPETITIONS} repetitions, as in the paper (default: a part of the demands, once)",
            repetitions=f"measure everything N times (default: 1, with --full {REPETITIONS})",
            configure=configure,
            reader=exhibits_of_files if name == EXPERIMENT else None,
        )
        for name, traffics in _TRAFFICS.items()
    }
)
