"""`kuijia run hedera-iterations`: bandwidth over annealing's iterations, under several readings of the paper."""

from __future__ import annotations

import argparse

from experiments.hedera.iterations_cases import Scope
from experiments.registry import Outcome, Settings, experiment, no_options
from experiments.results.stored_files import each_file
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_QUICK = Scope((16,), seeds=1, most_iterations=50_000)
_USUAL = Scope((16, 24), seeds=3)
_FULL = Scope((16, 24, 32), seeds=3)


@experiment(
    "hedera-iterations",
    title="random destinations: bandwidth over the iterations of annealing, under several readings of the paper",
    reproduces="Hedera's table of iterations",
    backends=("flow",),
    configure=no_options,
    ignores=("capacity", "repetitions"),
    own_help={"full": "also 32 ports (default: 16 and 24)"},
    order=405,
    reader=each_file("experiments.hedera.iterations_report"),
)
def hedera_iterations(
    settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    # Pictures take a second to import; listing the experiments must not need them.
    from experiments.hedera.iterations_run import run_iterations  # noqa: PLC0415  # slow to import: matplotlib

    scope = _FULL if args.full else _QUICK if settings.quick else _USUAL
    return run_iterations(settings, scope, output, progress)
