"""The experiments of the CQRD papers, by name."""

from __future__ import annotations

import argparse

from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Outcome, Settings, experiment, no_options

_SEEDS, _QUICK_SEEDS = 5, 2


@experiment(
    "cqrd-toy",
    title="five short flows meet two long ones at an output: OQ, HCF, CQ and CQRD",
    reproduces="CQRD, Figure 2",
    backends=("packet",),
    configure=no_options,
)
def cqrd_toy(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    # Pictures take a second to import, which listing the experiments should not cost.
    from experiments.cqrd.toy import run_toy  # noqa: PLC0415

    del args, progress
    return run_toy(settings, _QUICK_SEEDS if settings.quick else _SEEDS, output)
