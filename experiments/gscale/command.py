"""The evaluation on Gscale (section 5) for `kuijia run`: each of its tables and figures, and all of them as `gscale`.

They share their runs: a run that the folder already holds is not measured again.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from experiments.gscale.cases import EXPERIMENT, REPETITIONS, Traffic
from experiments.gscale.choice import cases_from, configure
from experiments.measuring.packet_options import CONDITION_DEFAULTS
from experiments.registry import Outcome, Runner, Settings, experiment
from experiments.results.exhibit import Exhibit
from experiments.results.stored_files import StoredFile
from experiments.sweep.workers import refuse_workers, workers_from
from kuijia_base.errors import InputError
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_ALL = ("emulation", "flow", "packet", "boxes")
_SINGLE: tuple[Traffic, ...] = ("tcp", "udp")
_EXPERIMENTS: tuple[tuple[str, int, str, str, tuple[str, ...], tuple[Traffic, ...]], ...] = (
    ("fig10", 100, "Figure 10", "throughput loss of TCP flows that a failure affects directly", _ALL, ("tcp",)),
    ("fig11", 110, "Figure 11", "packet loss of UDP flows that a failure affects directly", _ALL, ("udp",)),
    ("fig12", 120, "Figure 12", "throughput loss of TCP victims", _ALL, ("tcp",)),
    ("fig13", 130, "Figure 13", "packet loss of UDP victims", _ALL, ("udp",)),
    ("indirect", 115, "Section 5.2", "loss of flows that a failure affects indirectly", _ALL, _SINGLE),
    ("table4", 135, "Table 4", "how long TCP takes to settle after a failure", _ALL, ("tcp",)),
    ("fig14", 140, "Figure 14", "throughput loss of the low class of two", _ALL, ("priorities",)),
    ("fig16", 160, "Figure 16", "what passes a link before and after a failure, by class", _ALL, ("priorities",)),
    ("gscale", 200, "Section 5", "all of these", _ALL, (*_SINGLE, "priorities")),
)
"""Name, order, reproduced figure, title, backends, and the traffic of its runs."""


_OWN_HELP = {
    "full": f"all demands, and {REPETITIONS} repetitions, as in the paper (default: a part of the demands, once)",
    "repetitions": f"measure everything N times (default: 1, with --full {REPETITIONS})",
}

_READ = ("fig10", "fig11", "fig12", "fig13")
"""Figures whose numbers depend on choices that the paper does not state."""

_CAVEAT = (
    "Losses hang on which pairs are drawn, which of the best plans is taken and what is averaged, of which the paper"
    " says little: docs/gscale.md has what each makes of the difference."
)


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
    for name, default in CONDITION_DEFAULTS.items():
        if getattr(args, name) != default:
            option = f"--{name.replace('_', '-')}"
            raise InputError("option", option, f"changes nothing in {args.experiment} on {backend}", "--backend packet")
    refuse_workers(args, f"{args.experiment} on {backend} is not a sweep", [f"{args.experiment} --backend packet"])


def _read(files: Sequence[StoredFile]) -> tuple[Exhibit, ...]:
    # The optimiser takes a second to import; listing the experiments must not need it.
    from experiments.gscale.stored import exhibits_of_files  # noqa: PLC0415  # slow to import: NumPy

    return exhibits_of_files(files)


for _name, _order, _reproduces, _title, _backends, _traffics in _EXPERIMENTS:
    experiment(
        _name,
        title=_title,
        reproduces=_reproduces,
        backends=_backends,
        configure=configure,
        sweeps=True,
        heeds=("schemes", *CONDITION_DEFAULTS),
        own_help=_OWN_HELP,
        order=_order,
        reader=_read if _name == EXPERIMENT else None,
        caveat=_CAVEAT if _name in _READ else "",
    )(_runner(_name, _traffics))
