"""A sweep that tests can stop midway: after some cases, all others wait for a file.

`main` takes a folder and, for a cluster, the address of a scheduler.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, swept
from kuijia_base.sweep.workers import Workers

CASES = 30
FREE = 12
"""Cases that do not wait: the first ones to begin."""

_LINE = "{:4d} {:8d}\n"
_DEADLINE_SECONDS = 60.0


def prepare(folder: Path) -> Path:
    """Record each call in the file `prepared`."""
    with (folder / "prepared").open("a") as prepared:
        prepared.write(f"{os.getpid()}\n")
    return folder


def work(folder: Path, case: int) -> dict[str, Any]:
    """Record the process and the case in the file `worked`, and wait for the file `go`."""
    deadline = time.monotonic() + _DEADLINE_SECONDS
    line = _LINE.format(case, os.getpid())
    with (folder / "worked").open("a") as worked:
        worked.write(line)
        worked.flush()
        begun = worked.tell() // len(line)
    while begun > FREE and not (folder / "go").exists():
        if time.monotonic() > deadline:
            raise TimeoutError("nobody lets this sweep go on")
        time.sleep(0.01)
    return {"case": case, "third": case / 3}


def run(folder: Path, workers: Workers) -> None:
    sweep = Sweep("held", {"seed": 1}, folder, prepare, work, range(CASES))
    output = OutputFolder(folder / "results")
    with swept(sweep, workers, output, Progress(sys.stderr)) as results:
        output.write_json("held.json", results)


def main(folder: str, *address: str) -> None:
    run(Path(folder), Workers(2, *address))
