"""`kuijia run table4-factors`: what the time to converge of Table 4 hangs on, packet by packet at the paper's rate."""

from __future__ import annotations

import argparse

from experiments.experiment import Experiment, Outcome, Settings
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import workers_from


def table4_factors(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    from experiments.gscale.convergence_factors import run_factors  # noqa: PLC0415  # slow to import: the simulator

    return run_factors(settings, workers_from(args), output, progress)


EXPERIMENTS = {
    "table4-factors": Experiment(
        table4_factors,
        sweeps=True,
        without=("capacity", "repetitions", "full"),
    ),
}
