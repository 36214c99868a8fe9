"""Starts campaigns on Gscale as a user does, kills them, and looks at what they have left."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.result import load_result


@contextmanager
def campaign(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """One that runs, and that has been killed when the block ends."""
    command = [sys.executable, "-m", "kuijia_app.cli.main", "run", "gscale", *options, "-o", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def valid_results(folder: Path) -> dict[str, bytes]:
    """What the files of runs hold, by name; each of these files is whole."""
    paths = [path for path in folder.glob("*-*.json") if not load_result(path).invalid]
    return {path.name: path.read_bytes() for path in paths}
