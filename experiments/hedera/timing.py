"""Duration of demand estimation and of whole scheduler rounds, beside the paper's tables."""

from __future__ import annotations

import argparse

from experiments.registry import Outcome, Settings, experiment, no_options
from experiments.results.stored_files import each_file
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_MOST_HOSTS, _QUICK_HOSTS = 27_648, 8_192


@experiment(
    "hedera-timing",
    title="milliseconds of demand estimation and of whole rounds, up to 27,648 hosts",
    reproduces="Hedera's tables on timing",
    backends=("flow",),
    configure=no_options,
    ignores=("capacity", "repetitions"),
    unused=("full",),
    order=460,
    reader=each_file("experiments.hedera.timing_run"),
)
def hedera_timing(settings: Settings, _: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    # The kernels are imported on use, so that experiments can be listed without them.
    from experiments.hedera.timing_run import run_timing  # noqa: PLC0415  # slow to import: matplotlib

    return run_timing(_QUICK_HOSTS if settings.quick else _MOST_HOSTS, output, progress)
