"""Starts campaigns on Gscale as a user does, kills them, and reads the files they left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from experiments.gscale.cases import Case
from experiments.gscale.models import FlowModel
from experiments.results.result import Result, load_result
from kuijia.cli.main import main

ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def campaign(folder: Path, *options: str, at_most: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run a campaign in the block and kill it at the end.

    `at_most` limits the number of runs of the fluid model, so that the campaign cannot end before.
    """
    program = ["-m", "kuijia"]
    if at_most is not None:
        program = ["-c", f"from tests.experiments.gscale.killed import stop_after; stop_after({at_most})"]
    command = [sys.executable, *program, "run", "gscale", *options, "-o", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def stop_after(runs: int) -> None:
    """Act as the command, but stop instead of making more runs than these."""
    left = iter(range(runs))
    measure = FlowModel.measure

    def measured(model: FlowModel, case: Case) -> Result:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGSTOP)
        return measure(model, case)

    with patch.object(FlowModel, "measure", measured):
        sys.exit(main(sys.argv[1:]))


def valid_results(folder: Path) -> dict[str, bytes]:
    """Return the content of run files by name; each of these files is whole."""
    paths = [path for path in folder.glob("*-*-*-*-*.json") if not load_result(path).invalid]
    return {path.name: path.read_bytes() for path in paths}
