"""8,192 hosts in the flow model: patterns as in Hedera's figure, and flows that come and go."""

from __future__ import annotations

import argparse

from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Outcome, Settings, experiment

_PORTS, _QUICK_PORTS = 32, 8


def configure(parser: argparse.ArgumentParser) -> None:
    """It has no options of its own; `parser` is left as it is."""
    del parser


@experiment(
    "hedera-8192",
    title="8,192 hosts: patterns and flows that come and go under ECMP, first fit and annealing",
    reproduces="Hedera's simulator",
    backends=("flow",),
    configure=configure,
)
def hedera_8192(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    # Pictures take a second to import, which listing the experiments should not cost.
    from experiments.hedera.large_run import run_large  # noqa: PLC0415

    del args
    return run_large(settings, _QUICK_PORTS if settings.quick else _PORTS, output, progress)
