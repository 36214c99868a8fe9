"""The authors' traffic matrices in the flow model, beside the results of their own flow-level simulator."""

from __future__ import annotations

import argparse

from experiments.registry import Outcome, Settings, experiment, no_options
from experiments.results.stored_files import each_file
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_SEEDS, _QUICK_SEEDS = 20, 4


@experiment(
    "hedera-matrices",
    title="who sends to whom on 16 hosts, as in the authors' simulator: ECMP, first fit and annealing",
    reproduces="Hedera's simulator",
    backends=("flow",),
    configure=no_options,
    ignores=("capacity", "repetitions"),
    unused=("full",),
    order=400,
    reader=each_file("experiments.hedera.matrices_run"),
)
def hedera_matrices(settings: Settings, _: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    # Pictures take a second to import; listing the experiments must not need them.
    from experiments.hedera.matrices_run import run_matrices  # noqa: PLC0415  # slow to import: matplotlib

    return run_matrices(settings, _QUICK_SEEDS if settings.quick else _SEEDS, output, progress)
