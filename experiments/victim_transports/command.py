"""Transports under the victims' queue for `kuijia run`."""

from __future__ import annotations

import argparse

from experiments.registry import Outcome, Settings, experiment
from experiments.sweep.workers import workers_from
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


def configure(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("victim-transports")
    group.add_argument(
        "--transports",
        type=_names,
        default=TRANSPORTS,
        metavar="NAME[,NAME]",
        help=f"transports of `kuijia packet` (default: {','.join(TRANSPORTS)})",
    )
    group.add_argument(
        "--places",
        type=different_ones(tuple(PLACES)),
        default=tuple(PLACES),
        metavar="PLACE[,PLACE]",
        help=f"networks and loads (default: {','.join(PLACES)})",
    )


@experiment(
    "victim-transports",
    title="any transport over any scheme: what the victims' queue does to it",
    reproduces="a question of our own",
    backends=("packet",),
    configure=configure,
    sweeps=True,
    heeds=("schemes", "buffer_packets", "link_delay_seconds"),
    ignores=("capacity", "framework", "slots"),
    unused=("full",),
    order=320,
)
def victim_transports(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    # The simulator and the optimiser take seconds to import; listing the experiments must not need them.
    from experiments.victim_transports.sweep import run_cases  # noqa: PLC0415  # slow to import: the simulator

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
