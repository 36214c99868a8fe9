"""Data of a sweep that go to its worker processes, and the answers that come back."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from kuijia_base.commands import source_folder
from kuijia_base.errors import KuijiaError
from kuijia_base.manifest import library_version

Context = TypeVar("Context")
Ready = TypeVar("Ready")
Case = TypeVar("Case")

_PACKAGES = ("kuijia_base", "te_solver", "kuijia_app", "hedera", "simulator", "experiments")
_SOURCES = {".py", ".cpp", ".hpp", ".cdf", ".csv", ".yaml"}
_LIBRARIES = ("cvxpy", "highspy", "networkx", "numpy", "scipy")


@dataclass(frozen=True)
class Assignment(Generic[Context, Ready, Case]):
    """Data common to every case of a sweep; see `kuijia_base.sweep.sweep.Sweep`."""

    prepare: Callable[[Context], Ready]
    work: Callable[[Ready, Case], Any]
    context: Context
    code: str


@dataclass(frozen=True)
class Answer:
    """Outcome of a case: its result as JSON text, or its error and the exit status of that."""

    case: int
    text: str
    error_status: int | None = None


def answer(assignment: Assignment[Any, Any, Case], number: int, case: Case) -> Answer:
    """Work on one case.

    Errors for the user are returned as answers: not all of them can be pickled, and they need not end a pool.
    """
    try:
        if assignment.code != code_version():
            raise KuijiaError("a worker has another version of the program, expected the same one everywhere")
        return Answer(number, json.dumps(assignment.work(_ready(assignment), case), allow_nan=False))
    except KuijiaError as error:
        return Answer(number, str(error), error.exit_status)


class _Thread(threading.local):
    """Prepared context of a thread. Threads share nothing, so the prepared object may hold a solver."""

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
    """Return a digest of everything that computes results: our sources and the libraries below them."""
    digest = hashlib.sha256()
    for name in ("python", *_LIBRARIES):
        found = sys.version.split()[0] if name == "python" else library_version(name)
        digest.update(f"{name} {found}\n".encode())
    for package in _PACKAGES:
        folder = source_folder(package)
        for path in sorted(folder.rglob("*")):
            if path.suffix in _SOURCES:
                digest.update(f"{package}/{path.relative_to(folder)}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def digest_of(data: object) -> str:
    """Return a digest that identifies data, by its JSON and the `repr` of values without JSON."""
    return hashlib.sha256(json.dumps(data, default=repr).encode()).hexdigest()[:12]
