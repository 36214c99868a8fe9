"""The experiments on transports by credits, by name."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial

from experiments.registry import Outcome, Settings, experiment, no_options
from experiments.sweep.workers import workers_from
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_STATIC_SECONDS, _QUICK_STATIC_SECONDS = 5.0, 1.0
_QUICK_FLOWS, _FLOWS, _FULL_FLOWS = 40, 400, 3_000
_QUICK_BUFFER_SECONDS, _BUFFER_SECONDS = 10.0, 60.0
_MODERATE, _HEAVY = 0.4, 0.8
_SEEDS = 5

# Listing the experiments must not import the simulator, so runs are imported where they begin.

_LONG = {"full": "3,000 flows in each run (default: 400)"}
_LONGEST = {"full": "100,000 flows in each run (default: 10,000 to 100,000, by workload)"}
_OF_SEEDS = {"repetitions": "N seeds (default: 5, with --quick 1)"}
_simulated = partial(experiment, backends=("packet",), configure=no_options, sweeps=True, unused=("capacity",))
"""Registers an experiment in the packet simulator: a sweep, unless it says otherwise."""


@_simulated(
    "flashpass-fig4",
    title="two flows with different round trips under ExpressPass and FlashPass",
    reproduces="FlashPass, Figure 4, Tables III and IV",
    unused=("capacity", "repetitions", "quick", "full"),
    order=610,
    sweeps=False,
)
def flashpass_fig4(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    from experiments.flashpass.scheduling import run_scheduling  # noqa: PLC0415  # slow to import: the simulator

    del args, progress
    return run_scheduling(settings, output)


@_simulated(
    "flashpass-fig10",
    title="long flows to one receiver through a shallow buffer",
    reproduces="FlashPass, Figure 10",
    unused=("capacity", "full"),
    order=620,
)
def flashpass_fig10(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    from experiments.flashpass.static import run_static  # noqa: PLC0415  # slow to import: the simulator

    seconds = _QUICK_STATIC_SECONDS if settings.quick else _STATIC_SECONDS
    return run_static(seconds, settings, workers_from(args), output, progress)


@_simulated(
    "flashpass-fig5",
    title="credits of ExpressPass that find no data, by the size of flows",
    reproduces="FlashPass, Figure 5",
    own_help=_LONG,
    order=615,
)
def flashpass_fig5(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    from experiments.flashpass.dynamic import run_waste  # noqa: PLC0415  # slow to import: the simulator

    return run_waste(_flows(settings, args), settings, workers_from(args), output, progress)


@_simulated(
    "flashpass-fig11",
    title="flows over three data centres at load 0.4, five transports",
    reproduces="FlashPass, Figure 11",
    own_help=_LONG,
    order=630,
)
def flashpass_fig11(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    from experiments.flashpass.dynamic import run_load  # noqa: PLC0415  # slow to import: the simulator

    flows = _flows(settings, args)
    return run_load("flashpass-fig11", _MODERATE, flows, settings, workers_from(args), output, progress)


@_simulated(
    "flashpass-fig12",
    title="flows over three data centres at load 0.8, five transports",
    reproduces="FlashPass, Figure 12",
    own_help=_LONG,
    order=640,
)
def flashpass_fig12(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    from experiments.flashpass.dynamic import run_load  # noqa: PLC0415  # slow to import: the simulator

    flows = _flows(settings, args)
    return run_load("flashpass-fig12", _HEAVY, flows, settings, workers_from(args), output, progress)


@_simulated(
    "flashpass-fig14",
    title="target losses of emulation packets",
    reproduces="FlashPass, Figure 14",
    own_help=_LONG,
    order=650,
)
def flashpass_fig14(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    from experiments.flashpass.dynamic import run_targets  # noqa: PLC0415  # slow to import: the simulator

    return run_targets(_flows(settings, args), settings, workers_from(args), output, progress)


@_simulated(
    "flashpass-fig15",
    title="over-provisioned emulation packets with and without selective dropping",
    reproduces="FlashPass, Figure 15",
    own_help=_LONG,
    order=660,
)
def flashpass_fig15(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    from experiments.flashpass.dynamic import run_finishing  # noqa: PLC0415  # slow to import: the simulator

    return run_finishing(_flows(settings, args), settings, workers_from(args), output, progress)


@_simulated(
    "flashpass-buffers",
    title="buffers that chips have and reactive transports need",
    reproduces="FlashPass, Tables I and II",
    unused=("capacity", "full"),
    order=605,
)
def flashpass_buffers(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    from experiments.flashpass.buffers import run_buffers  # noqa: PLC0415  # slow to import: the simulator

    seconds = _QUICK_BUFFER_SECONDS if settings.quick else _BUFFER_SECONDS
    return run_buffers(seconds, settings, workers_from(args), output, progress)


@_simulated(
    "expresspass-convergence",
    title="round trips until a second flow of ExpressPass has its share",
    reproduces="ExpressPass, convergence in 3 and 6 round trips",
    unused=("capacity", "repetitions", "quick", "full"),
    order=670,
    sweeps=False,
)
def expresspass_convergence(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    from experiments.flashpass.convergence import run_convergence  # noqa: PLC0415  # slow to import: the simulator

    del args, progress
    return run_convergence(settings, output)


@_simulated(
    "expresspass-parking-lot",
    title="flows of ExpressPass over one to six links that others share",
    reproduces="ExpressPass, parking lot",
    unused=("capacity", "full"),
    own_help=_OF_SEEDS,
    order=675,
    sweeps=False,
)
def expresspass_parking_lot(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    from experiments.flashpass.parking_lot import run_parking_lot  # noqa: PLC0415  # slow to import: the simulator

    del progress
    seeds = 1 if settings.quick else _SEEDS
    return run_parking_lot(args.repetitions or seeds, settings, output)


@_simulated(
    "expresspass-flows",
    title="a link that 4 to 1,024 flows of ExpressPass share",
    reproduces="ExpressPass, Figure 15, flow scalability",
    unused=("capacity", "full"),
    own_help=_OF_SEEDS,
    order=672,
)
def expresspass_flows(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    from experiments.flashpass.scalability import run_scalability  # noqa: PLC0415  # slow to import: the simulator

    settings = replace(settings, repetitions=args.repetitions or (1 if settings.quick else _SEEDS))
    return run_scalability(settings, workers_from(args), output, progress)


@_simulated(
    "expresspass-shuffle",
    title="a shuffle among 40 hosts under ExpressPass and DCTCP",
    reproduces="ExpressPass, shuffle",
    own_help={"full": "8 tasks on each host, as in the paper: an hour (default: 2, with --quick 1)"},
    order=677,
)
def expresspass_shuffle(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    from experiments.flashpass.shuffle import FULL_TASKS, TASKS, run_shuffle  # noqa: PLC0415  # slow to import: the simulator

    tasks = FULL_TASKS if args.full else 1 if settings.quick else TASKS
    return run_shuffle(tasks, settings, workers_from(args), output, progress)


@_simulated(
    "expresspass-queues",
    title="queues at switches of a data centre under ExpressPass",
    reproduces="ExpressPass, Table 3",
    own_help=_LONGEST,
    order=680,
)
def expresspass_queues(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    from experiments.flashpass.data_center import flows_of, run_queues  # noqa: PLC0415  # slow to import: the simulator

    flows = flows_of(quick=settings.quick, full=args.full)
    return run_queues(flows, settings, workers_from(args), output, progress)


@_simulated(
    "expresspass-waste",
    title="credits of ExpressPass without data in a data centre",
    reproduces="ExpressPass, Figure 20",
    own_help=_LONGEST,
    order=690,
)
def expresspass_waste(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    from experiments.flashpass.data_center import flows_of, run_waste  # noqa: PLC0415  # slow to import: the simulator

    flows = flows_of(quick=settings.quick, full=args.full)
    return run_waste(flows, settings, workers_from(args), output, progress)


def _flows(settings: Settings, args: argparse.Namespace) -> int:
    if args.full:
        return _FULL_FLOWS
    return _QUICK_FLOWS if settings.quick else _FLOWS
