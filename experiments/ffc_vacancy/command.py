"""`kuijia run ffc-vacancy`: capacity that FFC keeps vacant for failures, as the paper says of it in section 2."""

from __future__ import annotations

import argparse

from experiments.experiment import Experiment, Outcome, Settings
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_DRAWS, _QUICK_DRAWS, _FULL_DRAWS = 10, 1, 50


def ffc_vacancy(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    # The optimiser takes seconds to import; listing the experiments must not need it.
    from experiments.ffc_vacancy.run import run_vacancy  # noqa: PLC0415  # slow to import: CVXPY

    draws = _QUICK_DRAWS if settings.quick else _FULL_DRAWS if args.full else _DRAWS
    return run_vacancy(args.repetitions or draws, settings, output, progress)


EXPERIMENTS = {
    "ffc-vacancy": Experiment(
        ffc_vacancy,
        without=("capacity",),
        own_help={
            "full": "50 draws of demands (default: 10)",
            "repetitions": "N draws of demands (default: 10, with --quick 1, with --full 50)",
        },
    ),
}
