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
from testbed.queues import MAX_CAPACITY, MIN_CAPACITY

NON_BLOCKING, ONE_TREE = "non-blocking", "one-tree"
"""Alternatives to the fat-tree: one switch for all hosts, or one core switch with one aggregation switch per pod."""

ECMP, FIRST_FIT, ANNEALING = "ecmp", "global-first-fit", "simulated-annealing"
SCHEMES = (NON_BLOCKING, ONE_TREE, ECMP, FIRST_FIT, ANNEALING)

DEFAULT_NIC_RATE = 5.0
"""Mbit/s: at 10 the userspace datapath uses a whole processor, and TCP loses packets to it."""

_QUICK = ("stride8", "randbij0")

DEFAULT_PERIOD, AUTHORS_PERIOD = 1.0, 5.0
"""Seconds between two rounds."""

_MORE_SECONDS = 10
"""64 flows on one tree took more than four seconds to connect, as their handshakes lose packets like other traffic."""


@dataclass(frozen=True)
class Span:
    """Duration of flows and the averaging window, in seconds since the last flow connected.

    The rest at the end allows for late connections: on a crowded path they may take seconds.
    """

    seconds: int
    begin: float
    end: float

    def seconds_of(self, attempt: int) -> int:
        """Return the duration of flows in an attempt, counted from 1; later attempts last longer in case time runs
        out."""
        return self.seconds + (attempt - 1) * _MORE_SECONDS


AUTHORS_SPAN = Span(60, 10.0, 50.0)
SHORT_SPAN = Span(15, 4.0, 11.0)


@dataclass(frozen=True)
class MatrixOptions:
    """Options of the measurement.

    Attributes:
        patterns: names of the authors' matrices.
        schemes: from `SCHEMES`, beginning with the one that the others are compared with.
        nic_rate: of every cable, in Mbit/s.
        period: seconds between two rounds of the scheduler.
        quick: True for only two patterns and a wider bar.
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
        help=f"placements to compare with the non-blocking switch (default: {','.join(SCHEMES[1:])})",
    )
    group.add_argument(
        "--nic-rate",
        type=_emulated_rate,
        default=DEFAULT_NIC_RATE,
        metavar="MBITS",
        help=f"rate of every cable (default: {DEFAULT_NIC_RATE:g})",
    )
    group.add_argument(
        "--period",
        type=_possible_period,
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
)
def hedera_testbed(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    options = options_from(args, quick=settings.quick)
    # Measuring code takes seconds to import; listing the experiments must not need it.
    from experiments.hedera.testbed_run import run_testbed  # noqa: PLC0415

    return run_testbed(settings, options, output, progress)


def _schemes(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    if not set(chosen) <= set(SCHEMES[1:]) or len(set(chosen)) < len(chosen):
        raise argparse.ArgumentTypeError(f"{text} is not a list of different ones of {','.join(SCHEMES[1:])}")
    return chosen


def _emulated_rate(text: str) -> float:
    rate = positive_number(text)
    if not MIN_CAPACITY <= rate <= MAX_CAPACITY:
        raise argparse.ArgumentTypeError(f"{text} is not {MIN_CAPACITY:g} to {MAX_CAPACITY:g} Mbit/s")
    return rate


def _possible_period(text: str) -> float:
    period = positive_number(text)
    if period < SHORTEST_PERIOD:
        raise argparse.ArgumentTypeError(f"{text} is not {SHORTEST_PERIOD:g} seconds or more")
    return period
