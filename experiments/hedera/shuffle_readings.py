"""`kuijia run hedera-shuffle-readings`: the shuffle under other readings of choices that its authors leave open."""

from __future__ import annotations

import argparse

from experiments.registry import Outcome, Settings, experiment, no_options
from experiments.results.stored_files import each_file
from experiments.sweep.workers import refuse_workers, workers_from
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_SEEDS, _QUICK_SEEDS = 10, 2

_SCALE, _QUICK_SCALE = 0.1, 0.01
"""Part of the authors' data in packets, unless `--full`."""


@experiment(
    "hedera-shuffle-readings",
    title="the shuffle under other readings of what its authors leave open: what annealing gains over the same hash",
    reproduces="Hedera's shuffle",
    backends=("flow", "packet"),
    configure=no_options,
    sweeps=True,
    ignores=("capacity", "repetitions"),
    own_help={"full": "with --backend packet: the authors' amount of data (default: a tenth)"},
    order=430,
    reader=each_file("experiments.hedera.shuffle_readings_run"),
)
def hedera_shuffle_readings(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    if settings.backend == "packet":
        # Pictures take a second to import; listing the experiments must not need them.
        from experiments.hedera.packet.readings_run import run_packet_readings  # noqa: PLC0415  # slow to import

        scale = 1.0 if args.full else _QUICK_SCALE if settings.quick else _SCALE
        return run_packet_readings(settings, scale, workers_from(args), output, progress)
    refuse_workers(args, f"changes nothing on {settings.backend}", ["those with --backend packet"])
    # Pictures take a second to import; listing the experiments must not need them.
    from experiments.hedera.shuffle_readings_run import run_readings  # noqa: PLC0415  # slow to import: matplotlib

    return run_readings(settings, _QUICK_SEEDS if settings.quick else _SEEDS, output, progress)
