"""FlashPass, Figure 2: five reactive transports against the size of the buffer."""

from __future__ import annotations

import argparse

from experiments.registry import Outcome, Settings, experiment
from experiments.sweep.workers import workers_from
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_SECONDS, _QUICK_SECONDS = 5.0, 1.5
_BUFFERS, _QUICK_BUFFERS = (0.2, 1.0, 5.0, 20.0, 100.0), (0.2, 2.0, 20.0)

# Pictures take a second to import; listing the experiments must not need them, so the run is imported where it begins.


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the experiment's option."""
    parser.add_argument(
        "--by-the-papers",
        action="store_true",
        help="Vegas, Copa and BBR as their own papers and drafts describe them, not as FlashPass' authors changed them",
    )


@experiment(
    "flashpass-fig2",
    title="200 flows of five reactive transports against the size of the buffer",
    reproduces="FlashPass, Figure 2",
    backends=("packet",),
    configure=configure,
    sweeps=True,
    unused=("capacity",),
    own_help={"full": "ten sizes of the buffer, as in the paper (default: five)"},
    order=600,
)
def flashpass_fig2(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    from experiments.flashpass.fig2_run import BUFFERS, BY_THE_PAPERS, Choices, Grid, run_fig2  # noqa: PLC0415  # slow to import: matplotlib

    choices = BY_THE_PAPERS if args.by_the_papers else Choices()
    grid = Grid(BUFFERS if args.full else _BUFFERS, _SECONDS, choices)
    if settings.quick:
        grid = Grid(_QUICK_BUFFERS, _QUICK_SECONDS, choices)
    return run_fig2(grid, settings, workers_from(args), output, progress)
