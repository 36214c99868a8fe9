"""`kuijia run gscale-readings` and `gscale-search`: losses on Gscale under choices that the paper leaves open."""

from __future__ import annotations

import argparse

from experiments.experiment import Experiment, Outcome, Settings
from experiments.gscale.readings.search import exhibits as searches_of
from experiments.gscale.readings.show import exhibits as readings_of
from experiments.results.stored_files import each_file
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import workers_from

_QUICK, _CAMPAIGNS, _FULL = 1, 10, 67
"""Campaigns of three draws of pairs, unless `--repetitions` sets their number."""

_IN_PACKETS, _IN_PACKETS_IN_FULL = 1, 10
"""The same in packets, where one takes a quarter of an hour of a processor."""

_SEARCHED, _SEARCHED_IN_FULL = 8, 67
"""The same for each of the two parts of a search."""


def gscale_readings(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    from experiments.gscale.readings.study import run_packet_study, run_study  # noqa: PLC0415  # only on Linux

    if settings.backend == "packet":
        campaigns = args.repetitions or (_IN_PACKETS_IN_FULL if args.full else _IN_PACKETS)
        return run_packet_study(settings, campaigns, workers_from(args), output, progress)
    campaigns = args.repetitions or (_FULL if args.full else _QUICK if settings.quick else _CAMPAIGNS)
    return run_study(settings, campaigns, workers_from(args), output, progress)


def gscale_search(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    from experiments.gscale.readings.search_study import run_search  # noqa: PLC0415  # only on Linux

    campaigns = args.repetitions or (_SEARCHED_IN_FULL if args.full else _QUICK if settings.quick else _SEARCHED)
    return run_search(settings, campaigns, workers_from(args), output, progress)


SIZE_BARS = {"gscale-search*": None}  # shows readings beside each other

EXPERIMENTS = {
    "gscale-readings": Experiment(
        gscale_readings,
        sweeps=True,
        without=("capacity",),
        own_help={
            "repetitions": "N campaigns of 3 draws of pairs (default: 10, with --quick 1, with --full 67;"
            " in packets 1, with --full 10)",
            "full": "67 campaigns instead of 10; in packets 10 instead of 1",
        },
        reader=each_file(readings_of),
    ),
    "gscale-search": Experiment(
        gscale_search,
        sweeps=True,
        without=("capacity",),
        own_help={
            "repetitions": "N campaigns of 3 draws of pairs in each part (default: 8, with --quick 1, with --full 67)",
            "full": "67 campaigns in each part of the search (default: 8)",
        },
        reader=each_file(searches_of),
    ),
}
