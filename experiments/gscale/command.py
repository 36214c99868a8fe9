"""The evaluation on Gscale (section 5) for `kuijia run`: each of its tables and figures, and all of them as `gscale`.

They share their runs: a run that the folder already holds is not measured again.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from experiments.experiment import Experiment, Outcome, Runner, Settings, refuse_given
from experiments.gscale.cases import EXPERIMENT, REPETITIONS, Traffic
from experiments.gscale.choice import cases_from, configure
from experiments.measuring.packet_options import add_conditions
from experiments.results.exhibit import Exhibit
from experiments.results.stored_files import StoredFile
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import refuse_workers, workers_from

_SINGLE: tuple[Traffic, ...] = ("tcp", "udp")
_TRAFFICS: Mapping[str, tuple[Traffic, ...]] = {
    "fig10": ("tcp",),
    "fig11": ("udp",),
    "fig12": ("tcp",),
    "fig13": ("udp",),
    "indirect": _SINGLE,
    "table4": ("tcp",),
    "fig14": ("priorities",),
    "fig16": ("priorities",),
    "gscale": (*_SINGLE, "priorities"),
}
"""Experiment to the traffic of its runs."""

_OWN_HELP = {
    "full": f"all demands, and {REPETITIONS} repetitions, as in the paper (default: a part of the demands, once)",
    "repetitions": f"measure everything N times (default: 1, with --full {REPETITIONS})",
}


def _runner(name: str, traffics: Sequence[Traffic]) -> Runner:
    def run(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
        # Measuring code takes seconds to import; listing the experiments must not need it.
        from experiments.gscale.exhibits import MAKERS  # noqa: PLC0415  # slow to import: NumPy
        from experiments.gscale.grid_run import run_grid  # noqa: PLC0415  # slow to import: matplotlib
        from experiments.gscale.measure import Means  # noqa: PLC0415  # slow to import: the simulator
        from experiments.measuring.packet_run import conditions_from  # noqa: PLC0415  # slow to import: the simulator

        names = tuple(each for each in MAKERS if name == EXPERIMENT or f"{each}-".startswith(f"{name}-"))
        cases = cases_from(args, traffics)
        if settings.backend == "packet":
            means = Means(args.private_entries, conditions_from(args), workers_from(args))
        else:
            _refuse_conditions(args, settings.backend)
            means = Means(args.private_entries)
        return run_grid(name, names, cases, settings, output, progress, means)

    return run


def _refuse_conditions(args: argparse.Namespace, backend: str) -> None:
    """Raise InputError for an option that only the packet simulator heeds."""
    refuse_given(args, add_conditions, f"changes nothing in {args.experiment} on {backend}", "packet")
    refuse_workers(args, f"{args.experiment} on {backend} is not a sweep", [f"{args.experiment} --backend packet"])


def _read(files: Sequence[StoredFile]) -> tuple[Exhibit, ...]:
    # The optimiser takes a second to import; listing the experiments must not need it.
    from experiments.gscale.stored import exhibits_of_files  # noqa: PLC0415  # slow to import: NumPy

    return exhibits_of_files(files)


EXPERIMENTS = {
    name: Experiment(
        _runner(name, traffics),
        configure=configure,
        sweeps=True,
        own_help=_OWN_HELP,
        reader=_read if name == EXPERIMENT else None,
    )
    for name, traffics in _TRAFFICS.items()
}
