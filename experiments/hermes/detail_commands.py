"""The experiments of the Hermes paper on examples, tables, faults and parameters, by name."""

from __future__ import annotations

import argparse

from experiments.experiment import Experiment, Outcome, Settings
from experiments.hermes.command import IN_SIMULATION, extent_of, profile_option, where_of
from experiments.hermes.failures import run_drops, run_hole
from experiments.hermes.motivation import run_motivation
from experiments.hermes.parameters import run_gaps, run_parts, run_thresholds
from experiments.hermes.plain_tcp import run_plain_tcp
from experiments.hermes.probing import run_probing
from experiments.hermes.visibility import run_visibility
from experiments.results.score import SizeBar
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_QUICK_EXAMPLES, _EXAMPLES, _FULL_EXAMPLES = 2, 10, 50

_WEB, _MINING = ("web-search",), ("data-mining",)
_BOTH = (*_WEB, *_MINING)
_TABLE_LOADS = ((0.6, 0.8),) * 2
_FAULT_LOADS = ((0.3, 0.7), (0.3, 0.4, 0.5, 0.6, 0.7))
_PART_LOADS = ((0.4, 0.8), (0.4, 0.6, 0.8))
_SPARSE = 3
"""The default runs every third of the thresholds in Figure 19."""


def hermes_motivation(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    seeds = _QUICK_EXAMPLES if settings.quick else _FULL_EXAMPLES if args.full else _EXAMPLES
    return run_motivation(args.repetitions or seeds, settings, output, progress)


def hermes_table2(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    extent = extent_of("hermes-table2", settings, args, _BOTH, _TABLE_LOADS)
    return run_visibility(extent, where_of(settings, args, output, progress))


def hermes_table6(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    del args
    return run_probing(settings, output, progress)


def hermes_fig15(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    return run_gaps(extent_of("hermes-fig15", settings, args, _WEB), where_of(settings, args, output, progress))


def hermes_fig16(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    return run_drops(
        extent_of("hermes-fig16", settings, args, _WEB, _FAULT_LOADS), where_of(settings, args, output, progress)
    )


def hermes_fig17(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    return run_hole(
        extent_of("hermes-fig17", settings, args, _WEB, _FAULT_LOADS), where_of(settings, args, output, progress)
    )


def hermes_fig18(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    return run_parts(
        extent_of("hermes-fig18", settings, args, _MINING, _PART_LOADS), where_of(settings, args, output, progress)
    )


def hermes_fig19(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    sparse = 1 if args.full else _SPARSE
    return run_thresholds(
        extent_of("hermes-fig19", settings, args, _BOTH), where_of(settings, args, output, progress), sparse
    )


def hermes_plain_tcp(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    return run_plain_tcp(
        extent_of("hermes-plain-tcp", settings, args, _WEB), where_of(settings, args, output, progress)
    )


SIZE_BARS = {"hermes-fig17-?-unfinished*": SizeBar(0.2)}  # four of two thousand flows

EXPERIMENTS = {
    "hermes-motivation": Experiment(
        hermes_motivation,
        without=("capacity",),
        own_help={
            "full": "50 seeds (default: 10)",
            "repetitions": "N seeds (default: 10, with --quick 2, with --full 50)",
        },
    ),
    "hermes-table2": Experiment(
        hermes_table2,
        configure=profile_option,
        sweeps=True,
        without=("capacity",),
        own_help=IN_SIMULATION,
    ),
    "hermes-table6": Experiment(
        hermes_table6,
        without=("capacity", "repetitions", "quick", "full"),
    ),
    "hermes-fig15": Experiment(
        hermes_fig15,
        sweeps=True,
        without=("capacity",),
        own_help=IN_SIMULATION,
    ),
    "hermes-fig16": Experiment(
        hermes_fig16,
        configure=profile_option,
        sweeps=True,
        without=("capacity",),
        own_help=IN_SIMULATION,
    ),
    "hermes-fig17": Experiment(
        hermes_fig17,
        configure=profile_option,
        sweeps=True,
        without=("capacity",),
        own_help=IN_SIMULATION,
    ),
    "hermes-fig18": Experiment(
        hermes_fig18,
        configure=profile_option,
        sweeps=True,
        without=("capacity",),
        own_help=IN_SIMULATION,
    ),
    "hermes-fig19": Experiment(
        hermes_fig19,
        sweeps=True,
        without=("capacity",),
        own_help=IN_SIMULATION,
    ),
    "hermes-plain-tcp": Experiment(
        hermes_plain_tcp,
        sweeps=True,
        without=("capacity",),
        own_help=IN_SIMULATION,
    ),
}
