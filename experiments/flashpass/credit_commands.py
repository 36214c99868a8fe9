"""The experiments on transports by credits, by name."""

from __future__ import annotations

import argparse
from dataclasses import replace

from experiments.experiment import Experiment, Outcome, Settings
from experiments.flashpass.buffers import run_buffers
from experiments.flashpass.convergence import run_convergence
from experiments.flashpass.data_center import flows_of, run_data_center_waste, run_queues
from experiments.flashpass.dynamic import run_finishing, run_load, run_targets, run_waste
from experiments.flashpass.parking_lot import run_parking_lot
from experiments.flashpass.scalability import run_scalability
from experiments.flashpass.scheduling import run_scheduling
from experiments.flashpass.shuffle import FULL_TASKS, TASKS, run_shuffle
from experiments.flashpass.static import run_static
from experiments.results.score import SizeBar
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import workers_from

_STATIC_SECONDS, _QUICK_STATIC_SECONDS = 5.0, 1.0
_QUICK_FLOWS, _FLOWS, _FULL_FLOWS = 40, 400, 3_000
_QUICK_BUFFER_SECONDS, _BUFFER_SECONDS = 10.0, 60.0
_MODERATE, _HEAVY = 0.4, 0.8
_SEEDS = 5

_LONG = {"full": "3,000 flows in each run (default: 400)"}
_LONGEST = {"full": "100,000 flows in each run (default: 10,000 to 100,000, by workload)"}
_OF_SEEDS = {"repetitions": "N seeds (default: 5, with --quick 1)"}


def flashpass_fig4(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    del args, progress
    return run_scheduling(settings, output)


def flashpass_fig10(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    seconds = _QUICK_STATIC_SECONDS if settings.quick else _STATIC_SECONDS
    return run_static(seconds, settings, workers_from(args), output, progress)


def flashpass_fig5(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    return run_waste(_flows(settings, args), settings, workers_from(args), output, progress)


def flashpass_fig11(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    flows = _flows(settings, args)
    return run_load("flashpass-fig11", _MODERATE, flows, settings, workers_from(args), output, progress)


def flashpass_fig12(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    flows = _flows(settings, args)
    return run_load("flashpass-fig12", _HEAVY, flows, settings, workers_from(args), output, progress)


def flashpass_fig14(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    return run_targets(_flows(settings, args), settings, workers_from(args), output, progress)


def flashpass_fig15(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    return run_finishing(_flows(settings, args), settings, workers_from(args), output, progress)


def flashpass_buffers(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    seconds = _QUICK_BUFFER_SECONDS if settings.quick else _BUFFER_SECONDS
    return run_buffers(seconds, settings, workers_from(args), output, progress)


def expresspass_convergence(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    del args, progress
    return run_convergence(settings, output)


def expresspass_parking_lot(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    del progress
    seeds = 1 if settings.quick else _SEEDS
    return run_parking_lot(args.repetitions or seeds, settings, output)


def expresspass_flows(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    settings = replace(settings, repetitions=args.repetitions or (1 if settings.quick else _SEEDS))
    return run_scalability(settings, workers_from(args), output, progress)


def expresspass_shuffle(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    tasks = FULL_TASKS if args.full else 1 if settings.quick else TASKS
    return run_shuffle(tasks, settings, workers_from(args), output, progress)


def expresspass_queues(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    flows = flows_of(quick=settings.quick, full=args.full)
    return run_queues(flows, settings, workers_from(args), output, progress)


def expresspass_waste(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    flows = flows_of(quick=settings.quick, full=args.full)
    return run_data_center_waste(flows, settings, workers_from(args), output, progress)


def _flows(settings: Settings, args: argparse.Namespace) -> int:
    if args.full:
        return _FULL_FLOWS
    return _QUICK_FLOWS if settings.quick else _FLOWS


_BURSTS = "bursts of slow start meet in small buffers; Cubic needs seconds to grow back (docs/flashpass.md)"
_PACED = "the paper does not say how Cubic's segments are spread; Linux's pacing is ours (docs/flashpass.md)"
_WAVES = "each of 200 flows asks for twice its share at least, and data comes in waves (docs/flashpass.md)"
SIZE_BARS = {
    "flashpass-fig10-throughput": SizeBar(causes={"Cubic": _BURSTS, "Cubic, paced": _PACED, "ExpressPass": _WAVES}),
    # Less is a few packets of a burst.
    "flashpass-fig10-loss": SizeBar(0.2, causes={"Cubic": _BURSTS, "Cubic, paced": _PACED, "ExpressPass": _WAVES}),
    "flashpass-fig1[12]": SizeBar(
        cause="400 flows are over before the load is steady (docs/flashpass.md)",
        causes={"Cubic": _BURSTS, "Cubic, paced": _PACED},
    ),
    "flashpass-fig14-loss": SizeBar(
        cause="ours counts the first round trips of flows, which emulate at the full rate (docs/flashpass.md)"
    ),
    "expresspass-flows-queue": SizeBar(cause="less than a packet is published; here a second one waits"),
    "expresspass-queues-*": SizeBar(cause="the sizes of credits decide how fast queues drain (docs/flashpass.md)"),
    "expresspass-waste": SizeBar(cause="of large flows more is published than a round trip of credits"),
}

EXPERIMENTS = {
    "flashpass-fig4": Experiment(
        flashpass_fig4,
        without=("capacity", "repetitions", "quick", "full"),
    ),
    "flashpass-fig10": Experiment(
        flashpass_fig10,
        sweeps=True,
        without=("capacity", "full"),
    ),
    "flashpass-fig5": Experiment(
        flashpass_fig5,
        sweeps=True,
        without=("capacity",),
        own_help=_LONG,
    ),
    "flashpass-fig11": Experiment(
        flashpass_fig11,
        sweeps=True,
        without=("capacity",),
        own_help=_LONG,
    ),
    "flashpass-fig12": Experiment(
        flashpass_fig12,
        sweeps=True,
        without=("capacity",),
        own_help=_LONG,
    ),
    "flashpass-fig14": Experiment(
        flashpass_fig14,
        sweeps=True,
        without=("capacity",),
        own_help=_LONG,
    ),
    "flashpass-fig15": Experiment(
        flashpass_fig15,
        sweeps=True,
        without=("capacity",),
        own_help=_LONG,
    ),
    "flashpass-buffers": Experiment(
        flashpass_buffers,
        sweeps=True,
        without=("capacity", "full"),
    ),
    "expresspass-convergence": Experiment(
        expresspass_convergence,
        without=("capacity", "repetitions", "quick", "full"),
    ),
    "expresspass-parking-lot": Experiment(
        expresspass_parking_lot,
        without=("capacity", "full"),
        own_help=_OF_SEEDS,
    ),
    "expresspass-flows": Experiment(
        expresspass_flows,
        sweeps=True,
        without=("capacity", "full"),
        own_help=_OF_SEEDS,
    ),
    "expresspass-shuffle": Experiment(
        expresspass_shuffle,
        sweeps=True,
        without=("capacity",),
        own_help={"full": "8 tasks on each host, as in the paper: an hour (default: 2, with --quick 1)"},
    ),
    "expresspass-queues": Experiment(
        expresspass_queues,
        sweeps=True,
        without=("capacity",),
        own_help=_LONGEST,
    ),
    "expresspass-waste": Experiment(
        expresspass_waste,
        sweeps=True,
        without=("capacity",),
        own_help=_LONGEST,
    ),
}
