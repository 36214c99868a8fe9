"""The authors' traffic matrices on real switches: their testbed of 16 hosts, emulated."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from experiments.motivation import positive_number
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Outcome, Settings, experiment
from hedera.matrices import authors_matrices
from hedera.options import SHORTEST_PERIOD
from te_solver.errors import shown
from testbed.queues import MAX_CAPACITY, MIN_CAPACITY

NON_BLOCKING, ONE_TREE = "non-blocking", "one-tree"
"""In place of the fat-tree: one switch for all hosts, and one core switch with an aggregation switch for each pod."""

ECMP, FIRST_FIT, ANNEALING = "ecmp", "global-first-fit", "simulated-annealing"
SCHEMES = (NON_BLOCKING, ONE_TREE, ECMP, FIRST_FIT, ANNEALING)

DEFAULT_NIC_RATE = 5.0
"""Mbit/s: at 10 the userspace datapath takes a whole processor for itself, and TCP loses packets to it."""

_QUICK = ("stride8", "randbij0")

DEFAULT_PERIOD, AUTHORS_PERIOD = 1.0, 5.0
"""Seconds between two rounds."""

_MORE_SECONDS = 10
"""64 flows on one tree took more than four seconds to be connected, as packets for that are lost like others."""


@dataclass(frozen=True)
class Span:
    """How long flows last, and what is averaged over, in seconds since the last one was connected.

    What is left at the end is for that: on a crowded path it may take seconds.
    """

    seconds: int
    begin: float
    end: float

    def seconds_of(self, attempt: int) -> int:
        """How long flows last in an attempt, counted from 1: each may have failed as there was not enough left."""
        return self.seconds + (attempt - 1) * _MORE_SECONDS


AUTHORS_SPAN = Span(60, 10.0, 50.0)
SHORT_SPAN = Span(15, 4.0, 11.0)


@dataclass(frozen=True)
class MatrixOptions:
    """What is measured.

    Attributes:
        patterns: names of the authors' matrices.
        schemes: of `SCHEMES`, the one that the others are held against first.
        nic_rate: of every cable, in Mbit/s.
        period: seconds between two rounds of the scheduler.
        quick: only two patterns: a wider bar.
    """

    patterns: tuple[str, ...]
    schemes: tuple[str, ...]
    nic_rate: float
    period: float
    span: Span
    quick: bool


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
        type=_schemes,
        default=SCHEMES[1:],
        metavar="NAME[,NAME]",
        help=f"held against the switch that does not block (default: {','.join(SCHEMES[1:])})",
    )
    group.add_argument(
        "--nic-rate",
        type=_emulated_rate,
        default=DEFAULT_NIC_RATE,
        metavar="MBITS",
        help=f"of every cable (default: {DEFAULT_NIC_RATE:g})",
    )
    group.add_argument(
        "--period",
        type=_possible_period,
        metavar="S",
        help=f"seconds between two rounds, from {SHORTEST_PERIOD:g} "
        f"(default: {DEFAULT_PERIOD:g}; with --full the authors' {AUTHORS_PERIOD:g})",
    )


def options_from(args: argparse.Namespace, *, quick: bool) -> MatrixOptions:
    """The options as given on the command line."""
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
)
def hedera_testbed(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    options = options_from(args, quick=settings.quick)
    # What measures takes seconds to import, which listing the experiments should not cost.
    from experiments.hedera.testbed_run import run_testbed  # noqa: PLC0415

    return run_testbed(settings, options, output, progress)


def _schemes(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    if not set(chosen) <= set(SCHEMES[1:]) or len(set(chosen)) < len(chosen):
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a list of different ones of {','.join(SCHEMES[1:])}")
    return chosen


def _emulated_rate(text: str) -> float:
    rate = positive_number(text)
    if not MIN_CAPACITY <= rate <= MAX_CAPACITY:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not {MIN_CAPACITY:g} to {MAX_CAPACITY:g} Mbit/s")
    return rate


def _possible_period(text: str) -> float:
    period = positive_number(text)
    if period < SHORTEST_PERIOD:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not {SHORTEST_PERIOD:g} seconds or more")
    return period
