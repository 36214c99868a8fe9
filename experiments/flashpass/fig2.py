"""FlashPass, Figure 2: five reactive transports against the size of the buffer."""

from __future__ import annotations

import argparse

from experiments.registry import Outcome, Settings, experiment, no_options
from experiments.sweep.workers import workers_from
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_SECONDS, _FULL_SECONDS, _QUICK_SECONDS = 3.0, 5.0, 1.5
_QUICK_BUFFERS = (0.2, 2.0, 20.0)

# Pictures take a second to import; listing the experiments must not need them, so the run is imported where it begins.


@experiment(
    "flashpass-fig2",
    title="200 flows of five reactive transports against the size of the buffer",
    reproduces="FlashPass, Figure 2",
    backends=("packet",),
    configure=no_options,
    sweeps=True,
    order=600,
)
def flashpass_fig2(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    from experiments.flashpass.fig2_run import BUFFERS, Grid, run_fig2  # noqa: PLC0415  # slow to import: matplotlib

    grid = Grid(BUFFERS, _FULL_SECONDS if args.full else _SECONDS)
    if settings.quick:
        grid = Grid(_QUICK_BUFFERS, _QUICK_SECONDS)
    return run_fig2(grid, settings, workers_from(args), output, progress)
