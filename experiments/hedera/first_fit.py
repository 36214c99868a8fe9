"""`kuijia run hedera-first-fit`: the authors' matrices under other readings of global first fit."""

from __future__ import annotations

import argparse

from experiments.registry import Outcome, Settings, experiment, no_options
from experiments.results.stored_files import each_file
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_SEEDS, _QUICK_SEEDS = 20, 2


@experiment(
    "hedera-first-fit",
    title="the authors' matrices under other readings of global first fit, each with one thing changed",
    reproduces="Hedera's simulator",
    backends=("flow",),
    configure=no_options,
    ignores=("capacity", "repetitions"),
    unused=("full",),
    order=402,
    reader=each_file("experiments.hedera.first_fit_run"),
)
def hedera_first_fit(settings: Settings, _: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    # Pictures take a second to import; listing the experiments must not need them.
    from experiments.hedera.first_fit_run import run_first_fit  # noqa: PLC0415  # slow to import: matplotlib

    return run_first_fit(settings, _QUICK_SEEDS if settings.quick else _SEEDS, output, progress)
