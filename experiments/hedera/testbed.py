"""The authors' traffic matrices on real switches: their testbed of 16 hosts, emulated."""

from __future__ import annotations

import argparse
import math

from experiments.hedera.testbed_cases import (
    ARRANGEMENTS,
    AUTHORS_PERIOD,
    AUTHORS_SPAN,
    DEFAULT_PERIOD,
    NON_BLOCKING,
    SHORT_SPAN,
    MatrixOptions,
)
from experiments.registry import Outcome, Settings, experiment
from experiments.results.stored_files import each_file
from hedera.matrices import authors_matrices
from hedera.options import SHORTEST_PERIOD
from kuijia_base.option_values import different_ones, positive_number_within, positive_rate
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from testbed.network.queues import MAX_CAPACITY, MIN_CAPACITY

DEFAULT_NIC_RATE = 5.0
"""Mbit/s: at 10 the userspace datapath uses a whole processor, and TCP loses packets to it."""

_QUICK = ("stride8", "randbij0")


def configure(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("hedera-testbed")
    group.add_argument(
        "--patterns",
        nargs="+",
        choices=tuple(authors_matrices()),
        metavar="PATTERN",
        help="traffic matrices, such as stride8 (default: all; with --quick two)",
    )
    group.add_argument(
        "--placements",
        type=different_ones(ARRANGEMENTS[1:]),
        default=ARRANGEMENTS[1:],
        metavar="NAME[,NAME]",
        help=f"placements to compare with the non-blocking switch (default: {','.join(ARRANGEMENTS[1:])})",
    )
    group.add_argument(
        "--nic-rate",
        type=positive_number_within(
            MIN_CAPACITY, MAX_CAPACITY, f"{MIN_CAPACITY:g} to {MAX_CAPACITY:g} Mbit/s", positive_rate
        ),
        default=DEFAULT_NIC_RATE,
        metavar="RATE",
        help=f"rate of every cable, in Mbit/s or as in 10M (default: {DEFAULT_NIC_RATE:g})",
    )
    group.add_argument(
        "--period",
        type=positive_number_within(SHORTEST_PERIOD, math.inf, f"{SHORTEST_PERIOD:g} seconds or more"),
        metavar="S",
        help=f"seconds between two rounds, from {SHORTEST_PERIOD:g} "
        f"(default: {DEFAULT_PERIOD:g}; with --full the authors' {AUTHORS_PERIOD:g})",
    )


def options_from(args: argparse.Namespace, *, quick: bool) -> MatrixOptions:
    """Return the options given on the command line."""
    full = bool(args.full)
    usual = _QUICK if quick else tuple(authors_matrices())
    return MatrixOptions(
        patterns=tuple(dict.fromkeys(args.patterns or usual)),
        schemes=(NON_BLOCKING, *args.placements),
        nic_rate=args.nic_rate,
        period=args.period or (AUTHORS_PERIOD if full else DEFAULT_PERIOD),
        span=AUTHORS_SPAN if full else SHORT_SPAN,
        quick=quick,
    )


@experiment(
    "hedera-testbed",
    title="who sends to whom on 16 hosts: real TCP under ECMP, first fit and annealing, on one tree and one switch",
    reproduces="Hedera's testbed",
    backends=("emulation",),
    configure=configure,
    ignores=("capacity", "framework", "slots"),
    order=410,
    reader=each_file("experiments.hedera.testbed_report"),
)
def hedera_testbed(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    options = options_from(args, quick=settings.quick)
    # Measuring code takes seconds to import; listing the experiments must not need it.
    from experiments.hedera.testbed_run import run_testbed  # noqa: PLC0415  # slow to import: matplotlib

    return run_testbed(settings, options, output, progress)
