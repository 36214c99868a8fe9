"""`kuijia run hedera-shuffle-readings`: the shuffle under other readings of choices that its authors leave open."""

from __future__ import annotations

import argparse

from experiments.registry import Outcome, Settings, experiment, no_options
from experiments.results.stored_files import each_file
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_SEEDS, _QUICK_SEEDS = 10, 2


@experiment(
    "hedera-shuffle-readings",
    title="the shuffle under other readings of what its authors leave open: what annealing gains over the same hash",
    reproduces="Hedera's shuffle",
    backends=("flow",),
    configure=no_options,
    ignores=("capacity", "repetitions"),
    order=430,
    reader=each_file("experiments.hedera.shuffle_readings_run"),
)
def hedera_shuffle_readings(
    settings: Settings, _: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    # Pictures take a second to import; listing the experiments must not need them.
    from experiments.hedera.shuffle_readings_run import run_readings  # noqa: PLC0415  # slow to import: matplotlib

    return run_readings(settings, _QUICK_SEEDS if settings.quick else _SEEDS, output, progress)
