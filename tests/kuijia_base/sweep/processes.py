"""Starts sweeps and the processes of a cluster, and waits until they reach a given state."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.kuijia_base.sweep.held import FREE

ROOT = Path(__file__).resolve().parents[3]

_DEADLINE_SECONDS = 60.0


def python(*arguments: str) -> subprocess.Popen[str]:
    """Start a Python process at the root of the project."""
    command = [sys.executable, *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def held_sweep(folder: Path, *address: str) -> subprocess.Popen[str]:
    # As the main module it would have a name that workers cannot import.
    script = "import sys; from tests.kuijia_base.sweep.held import main; main(*sys.argv[1:])"
    return python("-c", script, str(folder), *address)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_until_held(sweep: subprocess.Popen[str], folder: Path) -> None:
    """Wait until all cases that do not wait are finished."""
    checkpoint = folder / "results" / "held.checkpoint"
    wait_until(lambda: sweep.poll() is not None or _lines(checkpoint) == 1 + FREE)
    assert sweep.poll() is None


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def worked(folder: Path) -> list[tuple[int, int]]:
    """Return the cases begun so far, each with its process."""
    return [(int(case), int(process)) for case, process in map(str.split, (folder / "worked").read_text().splitlines())]


def gone(process: int) -> bool:
    """Return True if a process has ended or is a zombie."""
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rsplit(") ", 1)[1].startswith("Z")
    except FileNotFoundError:
        return True
