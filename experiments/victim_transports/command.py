"""Transports under the victims' queue for `kuijia run`."""

from __future__ import annotations

import argparse

from experiments.compared_schemes import add_schemes
from experiments.experiment import Experiment, Options, Outcome, Settings
from experiments.measuring.packet_options import add_queues
from experiments.victim_transports.cases import (
    BUFFER_PACKETS,
    CAPACITY,
    LINK_DELAY_SECONDS,
    PLACES,
    QUICK_BUFFER_PACKETS,
    QUICK_CAPACITY,
    TRANSPORTS,
    Choice,
    Conditions,
)
from kuijia_base.option_values import different_ones
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import workers_from


def configure(options: Options) -> None:
    add_schemes(options)
    add_queues(options, f"{BUFFER_PACKETS}, with --quick {QUICK_BUFFER_PACKETS}", f"{LINK_DELAY_SECONDS:g}")
    options.add_argument(
        "--transports",
        type=_names,
        default=TRANSPORTS,
        metavar="NAME[,NAME]",
        help=f"transports of `kuijia packet` (default: {','.join(TRANSPORTS)})",
    )
    options.add_argument(
        "--places",
        type=different_ones(tuple(PLACES)),
        default=tuple(PLACES),
        metavar="PLACE[,PLACE]",
        help=f"networks and loads (default: {','.join(PLACES)})",
    )


def victim_transports(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    from experiments.victim_transports.sweep import run_cases  # noqa: PLC0415  # only on Linux

    usual = QUICK_BUFFER_PACKETS if settings.quick else BUFFER_PACKETS
    delay = LINK_DELAY_SECONDS if args.link_delay_seconds is None else args.link_delay_seconds
    capacity = QUICK_CAPACITY if settings.quick else CAPACITY
    conditions = Conditions(capacity, args.buffer_packets or usual, delay, settings.seed)
    choice = Choice(args.places, args.schemes, args.transports, settings.repetitions)
    return run_cases(choice, conditions, settings, workers_from(args), output, progress)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(each.strip() for each in text.split(","))
    if len(set(names)) < len(names) or not all(names):
        raise argparse.ArgumentTypeError(f"{text!r}, expected different names with commas between them")
    return names


EXPERIMENTS = {
    "victim-transports": Experiment(
        victim_transports,
        configure=configure,
        sweeps=True,
        without=("capacity", "full", "framework", "slots"),
    ),
}
