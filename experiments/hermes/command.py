"""The experiments of the Hermes paper on completion times over the load, by name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from experiments.experiment import Experiment, Options, Outcome, Settings
from experiments.hermes.loads import Extent, run_asymmetric, run_symmetric, run_testbed, run_testbed_sizes
from experiments.hermes.runs import Where
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import workers_from

_SEEDS, _TESTBED_SEEDS, _FULL_SEEDS = 1, 2, 5

_TESTBED_FLOWS = {"quick": (200, 50), "default": (2_000, 3_000), "full": (20_000, 10_000)}
_SIMULATED_FLOWS = {"quick": (200, 40), "default": (20_000, 4_000), "full": (60_000, 13_000)}
"""Flows of web search and of data mining in each run, for `full` where it has one load.

A few of data mining's flows carry most of its bytes: with so few that they hardly meet, schemes differ little.
"""

_OWN_DEFAULT = {
    "hermes-table2": (20_000, 8_000),
    "hermes-fig12": (40_000, 4_000),
    "hermes-fig17": (4_000, 4_000),
}
"""Flows of the default where an experiment has so few runs that they can be longer, or so many that they cannot."""

_FULL_SECONDS = 2.0
"""For which flows start in each of the paper's simulations, whatever the load."""

_LOADS = (0.3, 0.5, 0.7, 0.9)
_FEW_LOADS = (0.5, 0.7, 0.9)
_FULL_LOADS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_CUT_LOADS = (0.3, 0.5, 0.6)
_FULL_CUT_LOADS = (0.3, 0.4, 0.5, 0.6, 0.65, 0.7)


def profile_option(options: Options) -> None:
    """Add the option that all experiments share which compare Hermes with others."""
    options.add_argument(
        "--profile",
        choices=("paper", "ns3", "buffer"),
        default="paper",
        help="constants of Hermes, turns and buffer of Presto*, and slow links: the paper's, or those of its public"
        " ns-3 code; or the paper's, and the resequencing buffer of that code at all receivers (default: %(default)s)",
    )


def where_of(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress, seeds: int = _SEEDS
) -> Where:
    """Return the settings with the experiment's own number of seeds, and the rest that runs need."""
    seeds = 1 if settings.quick else _FULL_SEEDS if args.full else seeds
    settings = replace(settings, repetitions=args.repetitions or seeds)
    return Where(settings, workers_from(args), output, progress)


def extent_of(
    name: str,
    settings: Settings,
    args: argparse.Namespace,
    workloads: Sequence[str],
    loads: tuple[tuple[float, ...], tuple[float, ...]] = (_FEW_LOADS, _FULL_LOADS),
    *,
    testbed: bool = False,
) -> Extent:
    """Return the size of an experiment's runs: `loads` are those of the default and of `--full`."""
    size = "quick" if settings.quick else "full" if args.full else "default"
    counts = (_TESTBED_FLOWS if testbed else _SIMULATED_FLOWS)[size]
    if size == "default":
        counts = _OWN_DEFAULT.get(name, counts)
    flows = dict(zip(("web-search", "data-mining"), counts, strict=True))
    chosen = loads[1] if args.full else loads[0]
    if settings.quick:
        chosen = (chosen[len(chosen) // 2],)
    seconds = _FULL_SECONDS if args.full and not testbed else 0.0
    profile = getattr(args, "profile", "paper")  # not every experiment has the option
    return Extent(chosen, {workload: flows[workload] for workload in workloads}, profile, seconds)


_WHOLE = "five seeds, and the paper's loads and flows (default: a part of them)"
IN_SIMULATION = {"full": _WHOLE, "repetitions": "N seeds (default: 1, with --full 5)"}
_ON_TESTBED = {"full": _WHOLE, "repetitions": "N seeds (default: 2, with --quick 1, with --full 5)"}
"""Help of common options in these experiments."""

_BOTH = ("web-search", "data-mining")
_CUT = (_CUT_LOADS, _FULL_CUT_LOADS)


def hermes_fig9(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    extent = extent_of("hermes-fig9", settings, args, _BOTH, (_LOADS[:3], _FULL_LOADS), testbed=True)
    return run_testbed(extent, where_of(settings, args, output, progress, _TESTBED_SEEDS), cut=False)


def hermes_fig10(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    extent = extent_of("hermes-fig10", settings, args, _BOTH, _CUT, testbed=True)
    return run_testbed(extent, where_of(settings, args, output, progress, _TESTBED_SEEDS), cut=True)


def hermes_fig11(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    extent = extent_of("hermes-fig11", settings, args, _BOTH[:1], _CUT, testbed=True)
    return run_testbed_sizes(extent, where_of(settings, args, output, progress, _TESTBED_SEEDS))


def hermes_fig12(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    extent = extent_of("hermes-fig12", settings, args, _BOTH, (_FEW_LOADS, _LOADS))
    return run_symmetric(extent, where_of(settings, args, output, progress))


def hermes_fig13(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    extent = extent_of("hermes-fig13", settings, args, ("web-search",))
    return run_asymmetric("web-search", extent, where_of(settings, args, output, progress))


def hermes_fig14(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    extent = extent_of("hermes-fig14", settings, args, ("data-mining",))
    return run_asymmetric("data-mining", extent, where_of(settings, args, output, progress))


EXPERIMENTS = {
    "hermes-fig9": Experiment(
        hermes_fig9,
        configure=profile_option,
        sweeps=True,
        without=("capacity",),
        own_help=_ON_TESTBED,
    ),
    "hermes-fig10": Experiment(
        hermes_fig10,
        configure=profile_option,
        sweeps=True,
        without=("capacity",),
        own_help=_ON_TESTBED,
    ),
    "hermes-fig11": Experiment(
        hermes_fig11,
        configure=profile_option,
        sweeps=True,
        without=("capacity",),
        own_help=_ON_TESTBED,
    ),
    "hermes-fig12": Experiment(
        hermes_fig12,
        configure=profile_option,
        sweeps=True,
        without=("capacity",),
        own_help=IN_SIMULATION,
    ),
    "hermes-fig13": Experiment(
        hermes_fig13,
        configure=profile_option,
        sweeps=True,
        without=("capacity",),
        own_help=IN_SIMULATION,
    ),
    "hermes-fig14": Experiment(
        hermes_fig14,
        configure=profile_option,
        sweeps=True,
        without=("capacity",),
        own_help=IN_SIMULATION,
    ),
}
