"""Selects the paper's cases by the options of a command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from experiments.compared_schemes import add_schemes
from experiments.experiment import Options
from experiments.gscale.cases import (
    DEFAULT_READING,
    DEMANDS,
    LINKS,
    READING_NAMES,
    REPETITIONS,
    TRAFFICS,
    Case,
    Edge,
    Traffic,
    grid,
)
from experiments.measuring.packet_options import add_conditions
from kuijia_base.errors import InputError
from kuijia_base.option_values import different_ones
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
        help=f"demands of every pair, in parts of a link: {_listed(DEMANDS)} (default: {_listed(DEFAULT_DEMANDS)}, "
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
        help="reading of the paper: shared, in which both directions of a link share its capacity in the plan, an "
        "interior-point method finds the plan, and pairs lose one tunnel at most, or directed, in which each direction "
        "has a capacity of its own (default: %(default)s)",
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
