"""Presses Ctrl-C at random times while commands start workers and work: `python -m tests.interrupts [TIMES [SEED]]`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

PATIENCE = 300.0
"""Seconds after Ctrl-C by which a command must have ended, on a busy machine."""

COMMANDS: Sequence[Sequence[str]] = (
    ("solve", "gscale", "gscale", "--partitions", "4", "-o", "plan.json"),
    ("run", "fig4", "--quick", "--workers", "2", "-o", "results"),
    ("whatif", "gscale", "gscale", "--workers", "2", "-o", "report"),
)
"""Commands that use workers; they work in a folder that each of them finds as the one before has left it."""

_ENDED = (0, 130)

_PROGRAM = "import sys; from kuijia.__main__ import run; print('runs', flush=True); sys.exit(run())"
"""The installed `kuijia`, which says when it runs: before, Python's own start would answer Ctrl-C by a traceback."""


def faults(folder: Path, times: int, seed: int = 1) -> list[str]:
    """Press Ctrl-C this many times; return what is not one line and status 130, or work that is done."""
    random, seconds = Random(seed), {words: _seconds(folder, words) for words in COMMANDS}
    found: list[str] = []
    for number in range(times):
        words = random.choice(COMMANDS)
        after = random.uniform(0.0, 1.1 * seconds[words])
        sys.stderr.write(f"{number} of {times} interrupts, {len(found)} faults\n")
        for each in _faults(folder, words, after):
            found.append(f"kuijia {' '.join(words)}, after {after:.3f} s: {each}")
            sys.stderr.write(f"{found[-1]}\n")
    return found


def _started(folder: Path, words: Sequence[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _PROGRAM, *words]
    place = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, cwd=folder, env=place, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def _seconds(folder: Path, words: Sequence[str]) -> float:
    with _started(folder, words) as process:
        started = time.monotonic()
        _, errors = process.communicate()
    if process.returncode:
        raise RuntimeError(f"kuijia {' '.join(words)}: {errors}")
    return time.monotonic() - started


def _faults(folder: Path, words: Sequence[str], after: float) -> list[str]:
    with _started(folder, words) as process:
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        try:
            _, errors = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return ["hangs"]
    found = []
    if process.returncode not in _ENDED:
        found.append(f"status {process.returncode}: {errors}")
    if "Traceback" in errors or "fault" in errors or "leaked" in errors:
        found.append(errors)
    if process.returncode == _ENDED[1] and not {"interrupted", "stopped"} & set(errors.replace(";", "\n").split()):
        found.append(f"no word of the interrupt: {errors}")
    return found


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        complaints = faults(Path(scratch), *map(int, sys.argv[1:]))
    sys.stdout.write(f"{len(complaints)} faults\n")
    sys.exit(bool(complaints))
