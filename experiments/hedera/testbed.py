"""The authors' traffic matrices on real switches: their testbed of 16 hosts, emulated."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from experiments.experiment import Experiment, Options, Outcome, Settings
from experiments.hedera.packet.options import configure_packets, packet_options_from, refuse_packet_options
from experiments.hedera.testbed_cases import (
    ARRANGEMENTS,
    AUTHORS_PERIOD,
    AUTHORS_SPAN,
    DEFAULT_PERIOD,
    NON_BLOCKING,
    PACKET_PERIOD,
    PACKET_SPAN,
    SHORT_SPAN,
    MatrixOptions,
)
from experiments.results.stored_files import each_file
from hedera.network.matrices import authors_matrices
from hedera.scheduling.options import SHORTEST_PERIOD
from kuijia_app.preparation.queues import MAX_CAPACITY, MIN_CAPACITY
from kuijia_base.errors import InputError
from kuijia_base.option_values import different_ones, positive_number_within, positive_rate
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import workers_from

DEFAULT_NIC_RATE = 5.0
"""Mbit/s: at 10 the userspace datapath uses a whole processor, and TCP loses packets to it."""

AUTHORS_NIC_RATE = 1000.0

_QUICK = ("stride8", "randbij0")


def configure(options: Options) -> None:
    options.add_argument(
        "--patterns",
        nargs="+",
        choices=tuple(authors_matrices()),
        metavar="PATTERN",
        help="traffic matrices, such as stride8 (default: all; with --quick two)",
    )
    add_scheduling(options)
    options.add_argument(
        "--emulation",
        type=Path,
        metavar="FILE",
        help="with --backend packet: hedera-testbed.json of an emulation, to be put beside",
    )
    configure_packets(options)


def add_scheduling(options: Options) -> None:
    """Add the options of runs under a scheduler."""
    options.add_argument(
        "--placements",
        type=different_ones(ARRANGEMENTS[1:]),
        default=ARRANGEMENTS[1:],
        metavar="NAME[,NAME]",
        help=f"placements to compare with the non-blocking switch (default: {','.join(ARRANGEMENTS[1:])})",
    )
    options.add_argument(
        "--nic-rate",
        type=positive_number_within(
            MIN_CAPACITY, MAX_CAPACITY, f"{MIN_CAPACITY:g} to {MAX_CAPACITY:g} Mbit/s", positive_rate
        ),
        metavar="RATE",
        help="rate of every cable, in Mbit/s or as in 10M "
        f"(default: {DEFAULT_NIC_RATE:g}, with --backend packet {AUTHORS_NIC_RATE:g})",
    )
    options.add_argument(
        "--period",
        type=positive_number_within(SHORTEST_PERIOD, math.inf, f"{SHORTEST_PERIOD:g} seconds or more"),
        metavar="S",
        help=f"seconds between two rounds, from {SHORTEST_PERIOD:g} "
        f"(default: {DEFAULT_PERIOD:g}, in packets {PACKET_PERIOD:g}; with --full the authors' {AUTHORS_PERIOD:g})",
    )


def nic_rate_from(args: argparse.Namespace, backend: str) -> float:
    """Return the rate of cables that was asked for, or the backend's own."""
    usual = AUTHORS_NIC_RATE if backend == "packet" else DEFAULT_NIC_RATE
    return float(args.nic_rate or usual)


def options_from(args: argparse.Namespace, backend: str = "emulation", *, quick: bool) -> MatrixOptions:
    """Return the options given on the command line."""
    full = bool(args.full)
    usual = _QUICK if quick else tuple(authors_matrices())
    period, span = (PACKET_PERIOD, PACKET_SPAN) if backend == "packet" else (DEFAULT_PERIOD, SHORT_SPAN)
    return MatrixOptions(
        patterns=tuple(dict.fromkeys(args.patterns or usual)),
        schemes=(NON_BLOCKING, *args.placements),
        nic_rate=nic_rate_from(args, backend),
        period=args.period or (AUTHORS_PERIOD if full else period),
        span=AUTHORS_SPAN if full else span,
        quick=quick,
    )


def hedera_testbed(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    options = options_from(args, settings.backend, quick=settings.quick)
    if settings.backend == "packet":
        from experiments.hedera.packet.testbed_run import run_packets  # noqa: PLC0415  # slow to import: the simulator

        how = packet_options_from(args), args.emulation
        return run_packets(settings, options, how, workers_from(args), output, progress)
    refuse_packet_options(args, settings.backend)
    if args.emulation is not None:
        raise InputError("option", "--emulation", "changes nothing on emulation", "--backend packet with it")
    # Measuring code takes seconds to import; listing the experiments must not need it.
    from experiments.hedera.testbed_run import run_testbed  # noqa: PLC0415  # slow to import: the simulator

    return run_testbed(settings, options, output, progress)


EXPERIMENTS = {
    "hedera-testbed": Experiment(
        hedera_testbed,
        configure=configure,
        sweeps=True,
        without=("capacity", "framework", "slots"),
        own_help={"full": "the authors' minute for each matrix, with rounds every 5 seconds"},
        reader=each_file("experiments.hedera.testbed_report"),
    ),
}
