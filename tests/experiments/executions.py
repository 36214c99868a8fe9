"""Executions of experiments in packets that tests run in a folder, by one process, quickly."""

from __future__ import annotations

import io
from argparse import Namespace
from pathlib import Path

from experiments.experiment import Settings
from experiments.grid import Execution
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

QUICK = Settings("packet", 1000.0, "os-ken", 64, 1, quick=True, seed=1)
TWO_SEEDS = Settings("packet", 1000.0, "os-ken", 64, 2, quick=True, seed=1)


def options(**given: object) -> Namespace:
    """Return options of a command line: their defaults in one process, and those given."""
    defaults = {"full": False, "repetitions": None, "workers": 1, "cluster": None}
    return Namespace(**{**defaults, "profile": "paper", "by_the_papers": False, **given})


def execution_in(folder: Path, name: str = "any", settings: Settings = QUICK, **given: object) -> Execution:
    return Execution(name, settings, options(**given), OutputFolder(folder), Progress(io.StringIO()))
