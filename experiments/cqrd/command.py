"""The experiments of the CQRD papers, by name."""

from __future__ import annotations

import argparse
from dataclasses import replace

from experiments.cqrd.deployment import Grid, run_buffers, run_deployment
from experiments.cqrd.loads import Part, run_experiment
from experiments.cqrd.published import LOADS
from experiments.cqrd.testbed import run_testbed
from experiments.cqrd.toy import run_toy
from experiments.experiment import Experiment, Outcome, Settings
from experiments.results.score import SizeBar
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import workers_from

_SEEDS, _QUICK_SEEDS = 5, 2
_SWITCH_SEEDS = 20  # goodput of CQRD / OQ, with a bar at 0.93, varies by 0.02 between seeds
_DCTCP_SEEDS = 4  # with DCTCP, CQRD and CQ differ less than two seeds do
_FABRIC_FLOWS, _CONFERENCE_FLOWS = 20_000, 2_000
_HALF_AND_ALL = (0, 3, 6)
_SOME_BUFFERS = (0, 1, 2, 3, 6, 12)
_SECONDS, _QUICK_SECONDS = 20.0, 4.0


def cqrd_toy(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    del args, progress
    return run_toy(settings, _QUICK_SEEDS if settings.quick else _SEEDS, output)


def cqrd_exp1(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    parts = [Part("lcn", 1_200)]
    if not settings.quick:
        parts.insert(0, Part("journal", 6_000))
        settings = replace(settings, repetitions=args.repetitions or _SWITCH_SEEDS)
    return run_experiment("cqrd-exp1", parts, settings, workers_from(args), output, progress)


def cqrd_exp2(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    parts = [Part("lcn", _CONFERENCE_FLOWS)]
    if not settings.quick:
        parts.insert(0, Part("journal", _FABRIC_FLOWS))
    return run_experiment("cqrd-exp2", parts, settings, workers_from(args), output, progress)


def cqrd_exp3(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    grid = Grid(_FABRIC_FLOWS, _FABRIC_FLOWS)
    if settings.quick:
        grid = Grid(_CONFERENCE_FLOWS, _FABRIC_FLOWS, LOADS[:1], _HALF_AND_ALL)
    return run_deployment(grid, settings, workers_from(args), output, progress)


def cqrd_exp4(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    grid = Grid(_CONFERENCE_FLOWS, _CONFERENCE_FLOWS, steps=_SOME_BUFFERS if settings.quick else None)
    return run_buffers(grid, settings, workers_from(args), output, progress)


def cqrd_exp5(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    parts = [Part("journal", _CONFERENCE_FLOWS, LOADS[:1])]
    if not settings.quick:
        parts = [Part("journal", _FABRIC_FLOWS)]
        settings = replace(settings, repetitions=args.repetitions or _DCTCP_SEEDS)
    return run_experiment("cqrd-exp5", parts, settings, workers_from(args), output, progress)


def cqrd_testbed(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    del args, progress
    return run_testbed(settings, _QUICK_SECONDS if settings.quick else _SECONDS, output)


SIZE_BARS = {
    "cqrd-toy-*": SizeBar(cause="published values are read by eye from a logarithmic axis"),
    "cqrd-testbed-*": SizeBar(cause="the testbed's delays and hosts' queues are not known"),
    "cqrd-exp4-average": SizeBar(
        cause="30 KB cost what room for acknowledgements and what hosts hold back make of it (docs/cqrd.md)"
    ),
    "cqrd-*": SizeBar(
        cause="the paper gives neither the rate of load 1 nor hosts' queues, and both move these times (docs/cqrd.md)"
    ),
}

EXPERIMENTS = {
    "cqrd-toy": Experiment(
        cqrd_toy,
        without=("capacity", "repetitions", "full"),
    ),
    "cqrd-exp1": Experiment(
        cqrd_exp1,
        sweeps=True,
        without=("capacity", "full"),
        own_help={"repetitions": "N seeds (default: 20, with --quick 1)"},
    ),
    "cqrd-exp2": Experiment(
        cqrd_exp2,
        sweeps=True,
        without=("capacity", "full"),
        own_help={"repetitions": "N seeds (default: 1)"},
    ),
    "cqrd-exp3": Experiment(
        cqrd_exp3,
        sweeps=True,
        without=("capacity", "repetitions", "full"),
    ),
    "cqrd-exp4": Experiment(
        cqrd_exp4,
        sweeps=True,
        without=("capacity", "repetitions", "full"),
    ),
    "cqrd-exp5": Experiment(
        cqrd_exp5,
        sweeps=True,
        without=("capacity", "full"),
        own_help={"repetitions": "N seeds (default: 4, with --quick 1)"},
    ),
    "cqrd-testbed": Experiment(
        cqrd_testbed,
        without=("capacity", "full"),
        own_help={"repetitions": "N seeds (default: 1)"},
    ),
}
