"""Scaling of the simulation: larger and larger fat-trees, the goodput on them, and the time and memory it takes."""

from __future__ import annotations

import argparse

from experiments.registry import Outcome, Settings, experiment, no_options
from experiments.results.stored_files import each_file
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_PORTS, _QUICK_PORTS = (16, 32, 48, 64), (4, 8)


@experiment(
    "hedera-growth",
    title="fat-trees of up to 65,536 hosts: goodput under ECMP, first fit and annealing, time and memory",
    reproduces="nothing published",
    backends=("flow",),
    configure=no_options,
    ignores=("capacity", "repetitions"),
    unused=("full",),
    order=450,
    reader=each_file("experiments.hedera.growth_run"),
)
def hedera_growth(settings: Settings, _: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    # Pictures take a second to import; listing the experiments must not need them.
    from experiments.hedera.growth_run import run_growth  # noqa: PLC0415  # slow to import: matplotlib

    return run_growth(settings, _QUICK_PORTS if settings.quick else _PORTS, output, progress)
