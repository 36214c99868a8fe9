"""Executions of experiments in packets that tests run in a folder, by one process, quickly."""

from __future__ import annotations

import io
from argparse import Namespace
from pathlib import Path

from experiments.experiment import Settings
from experiments.grid import Execution
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress


def execution_in(folder: Path, name: str, *, seeds: int = 1, by_the_papers: bool = False) -> Execution:
    settings = Settings("packet", 1000.0, "os-ken", 64, seeds, quick=True, seed=1)
    args = Namespace(workers=1, cluster=None, full=False, by_the_papers=by_the_papers)
    return Execution(name, settings, args, OutputFolder(folder), Progress(io.StringIO()))
