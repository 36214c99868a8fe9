"""Figures 6 and 8 and the count of section 5.4: memory of flow entries in one table and in decomposed tables."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from experiments.registry import Outcome, Runner, Settings, experiment, no_options
from experiments.results.exhibit import Exhibit
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

_EXPERIMENTS = (
    ("fig6", 60, "Figure 6", "fields of one switch's entries for three priorities, in one table and decomposed"),
    ("fig8", 80, "Figure 8", "fields of four switches' entries by the number of priorities"),
    ("fields", 165, "Section 5.4", "fields of all entries for five pairs with two classes on Gscale"),
)


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


for _name, _order, _reproduces, _title in _EXPERIMENTS:
    experiment(
        _name,
        title=_title,
        reproduces=_reproduces,
        backends=("tables",),
        configure=no_options,
        unused=("capacity", "repetitions", "quick", "full"),
        order=_order,
    )(_runner(_name))
