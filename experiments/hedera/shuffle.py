"""The authors' data shuffle on the emulated testbed: every host sends the same amount to every other host."""

from __future__ import annotations

import argparse

from experiments.experiment import Experiment, Options, Outcome, Settings
from experiments.hedera.large_options import add_ramp, ramp_from
from experiments.hedera.packet.options import (
    configure_packets,
    packet_options_from,
    refuse_packet_options,
)
from experiments.hedera.shuffle_cases import AUTHORS_BYTES, AUTHORS_RATE, ShuffleOptions
from experiments.hedera.testbed import add_scheduling, nic_rate_from
from experiments.hedera.testbed_cases import AUTHORS_PERIOD, DEFAULT_PERIOD, NON_BLOCKING
from experiments.results.stored_files import each_file
from kuijia_base.errors import InputError
from kuijia_base.option_values import positive_count, positive_number
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import workers_from

TIME_SCALE, QUICK_TIME_SCALE, QUICK_PACKET_TIME_SCALE = 0.5, 0.1, 0.01
"""Scale of the data, on top of the scale of the link rate; the packet model has the authors' size otherwise."""

QUICK_PERIOD = 0.5


def configure(options: Options) -> None:
    options.add_argument(
        "--time-scale",
        type=positive_number,
        metavar="F",
        help="factor that scales the data, and so the time, relative to the authors' "
        f"(default: {TIME_SCALE:g}, with --quick {QUICK_TIME_SCALE:g}, with --full 1; in packets 1, with --quick "
        f"{QUICK_PACKET_TIME_SCALE:g})",
    )
    options.add_argument(
        "--at-once",
        type=positive_count,
        default=2,
        metavar="N",
        help="hosts to which a host sends at a time; the authors do not state it (default: %(default)s)",
    )
    add_scheduling(options)
    add_ramp(options)
    configure_packets(options)


def options_from(args: argparse.Namespace, backend: str = "emulation", *, quick: bool) -> ShuffleOptions:
    """Return the options given on the command line."""
    is_packet = backend == "packet"
    is_full = args.full or (is_packet and not quick)
    quick_scale = QUICK_PACKET_TIME_SCALE if is_packet else QUICK_TIME_SCALE
    usual_period = AUTHORS_PERIOD if is_full else QUICK_PERIOD if quick else DEFAULT_PERIOD
    scale = args.time_scale or (1.0 if is_full else quick_scale if quick else TIME_SCALE)
    nic_rate = nic_rate_from(args, backend)
    return ShuffleOptions(
        size=max(1, round(AUTHORS_BYTES * nic_rate / AUTHORS_RATE * scale)),
        at_once=args.at_once,
        schemes=(NON_BLOCKING, *args.placements),
        nic_rate=nic_rate,
        period=args.period or usual_period,
        time_scale=scale,
        ramp=ramp_from(args),
    )


def hedera_shuffle(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    options = options_from(args, settings.backend, quick=settings.quick)
    if options.ramp is not None and settings.backend != "flow":
        raise InputError("option", "--ramp", "changes nothing where TCP has its own", "--backend flow with it")
    if settings.backend == "packet":
        from experiments.hedera.packet.shuffle import run_packet_shuffle  # noqa: PLC0415  # slow to import

        packet = packet_options_from(args)
        return run_packet_shuffle(settings, options, packet, workers_from(args), output, progress)
    refuse_packet_options(args, settings.backend)
    # Measuring code takes seconds to import; listing the experiments must not need it.
    from experiments.hedera.shuffle_run import run_shuffle  # noqa: PLC0415  # slow to import: the simulator

    return run_shuffle(settings, options, output, progress)


EXPERIMENTS = {
    "hedera-shuffle": Experiment(
        hedera_shuffle,
        configure=configure,
        sweeps=True,
        without=("capacity", "repetitions", "framework", "slots"),
        own_help={"full": "the authors' amount of data"},
        reader=each_file("experiments.hedera.shuffle_report"),
    ),
}
