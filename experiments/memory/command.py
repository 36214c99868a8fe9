"""Figures 6 and 8 and the count of section 5.4: memory of flow entries in one table and in decomposed tables."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from experiments.experiment import Experiment, Outcome, Runner, Settings
from experiments.results.exhibit import Exhibit
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress


def _runner(name: str) -> Runner:
    def run(settings: Settings, _: argparse.Namespace, output: OutputFolder, __: Progress) -> Outcome:
        # The optimiser and the plotting take seconds to import; listing the experiments must not need them.
        from experiments.memory.exhibits import fields, figure_6_counts, figure_8_counts  # noqa: PLC0415  # slow to import: PyYAML
        from experiments.reporting.exhibit_output import write_exhibits  # noqa: PLC0415  # slow to import: matplotlib

        makers: dict[str, Callable[[Settings], Exhibit]] = {
            "fig6": lambda _: figure_6_counts(),
            "fig8": lambda _: figure_8_counts(),
            "fields": fields,
        }
        return write_exhibits(name, [makers[name](settings)], settings, output)

    return run


EXPERIMENTS = {
    name: Experiment(_runner(name), without=("capacity", "repetitions", "quick", "full"))
    for name in ("fig6", "fig8", "fields")
}
