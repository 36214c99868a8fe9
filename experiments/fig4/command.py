"""Fig. 4 of the paper: throughput lost with the original weights and with recomputed weights (section 4.2)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from experiments.experiment import Experiment, Outcome, Settings
from experiments.fig4.exhibits import figure_4_from_json
from experiments.results.exhibit import Exhibit
from experiments.results.stored_files import StoredFile, told_apart
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import workers_from

FULL_GRAPHS = FULL_RUNS = 10
"""Numbers of the paper: ten random graphs, ten draws of pairs on each."""

_GRAPHS, _RUNS = 2, 2
_QUICK_GRAPHS, _QUICK_RUNS = 1, 1


def _read(files: Sequence[StoredFile]) -> tuple[Exhibit, ...]:
    made = ((file.path, figure_4_from_json(file.data, file.path)) for file in files if "loss" in file.data)
    return tuple(told_apart(made))


def fig4(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    # The optimiser takes seconds to import; listing the experiments must not need it.
    from experiments.fig4.run import run_figure  # noqa: PLC0415  # slow to import: CVXPY

    size = (_GRAPHS, _RUNS)
    if args.full:
        size = (FULL_GRAPHS, FULL_RUNS)
    elif settings.quick:
        size = (_QUICK_GRAPHS, _QUICK_RUNS)
    return run_figure(settings, *size, workers_from(args), output, progress)


EXPERIMENTS = {
    "fig4": Experiment(
        fig4,
        sweeps=True,
        without=("repetitions",),
        own_help={"full": "10 graphs with 10 draws of pairs each, as in the paper (default: 2 with 2)"},
        reader=_read,
    ),
}
