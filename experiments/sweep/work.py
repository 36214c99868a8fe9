"""What of a sweep goes to the processes that work on it, and what comes back from them."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

from te_solver.errors import KuijiaError

Context = TypeVar("Context")
Ready = TypeVar("Ready")
Case = TypeVar("Case")

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("te_solver", "kuijia_app", "hedera", "simulator", "experiments")
_SOURCES = {".py", ".cpp", ".hpp", ".cdf", ".csv", ".yaml"}
_LIBRARIES = ("cvxpy", "highspy", "networkx", "numpy", "scipy")


@dataclass(frozen=True)
class Assignment(Generic[Context, Ready, Case]):
    """What every case of a sweep has in common; see `experiments.sweep.sweep.Sweep`."""

    prepare: Callable[[Context], Ready]
    work: Callable[[Ready, Case], Any]
    context: Context
    code: str


@dataclass(frozen=True)
class Answer:
    """What came of one case: its result as JSON text, or the error that it ended with and the exit status of that."""

    case: int
    text: str
    error_status: int | None = None


def answer(assignment: Assignment[Any, Any, Case], number: int, case: Case) -> Answer:
    """Work on one case.

    Errors for the user are answers: not all of them could be pickled, and a pool need not end for them.
    """
    try:
        if assignment.code != code_version():
            raise KuijiaError("a worker has another version of the program, expected the same one everywhere")
        return Answer(number, json.dumps(assignment.work(_ready(assignment), case), allow_nan=False))
    except KuijiaError as error:
        return Answer(number, str(error), error.exit_status)


class _Thread(threading.local):
    """What a thread is ready for. Threads of one process share nothing, so that what is prepared may keep a solver."""

    assignment: Assignment[Any, Any, Any] | None = None
    ready: Any = None


_thread = _Thread()


def _ready(assignment: Assignment[Any, Ready, Any]) -> Ready:
    if _thread.assignment is not assignment:
        _thread.ready = assignment.prepare(assignment.context)
        _thread.assignment = assignment
    ready: Ready = _thread.ready
    return ready


@cache
def code_version() -> str:
    """A digest of everything that computes results: our sources and the libraries below them."""
    digest = hashlib.sha256()
    for name in ("python", *_LIBRARIES):
        found = sys.version.split()[0] if name == "python" else version(name)
        digest.update(f"{name} {found}\n".encode())
    for package in _PACKAGES:
        for path in sorted((_ROOT / package).rglob("*")):
            if path.suffix in _SOURCES:
                digest.update(f"{path.relative_to(_ROOT)}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
