"""A room of Python modules: each change meets the test files that are nearest to it, in a process of its own.

The process is forked from one that has imported all libraries, so it begins within a second. What it may take is
counted in seconds of a processor: a busy machine kills no more changes than an idle one.
"""

from __future__ import annotations

import ast
import importlib
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import NoReturn

import pytest

from kuijia_base.errors import KuijiaError
from tests.mutants.change import Change
from tests.mutants.python_changes import changes_of
from tests.mutants.room import ROOT, Trials, Verdict, changed, files_of

_OPTIONS = ("-q", "-x", "-p", "no:cacheprovider", "-m", "not ovs and not emulation and not kernel")
_START_SECONDS = 10.0
"""Seconds of a processor that imports and the collection of tests may take."""

_WAITING = 6
"""Wall time that a trial may take, as a multiple of its seconds of a processor: tests wait, and machines are busy."""

_FAR = 99
"""Steps to what is not imported at all."""

_KILLED_BY_LIMIT = (-signal.SIGXCPU, -signal.SIGKILL)


@dataclass(frozen=True)
class PythonRoom:
    """Patterns of Python files and of test files, both from the root."""

    name: str
    files: Sequence[str]
    tests: Sequence[str]

    def changes(self) -> list[Change]:
        return [change for file in files_of(self.files) for change in changes_of(file, (ROOT / file).read_bytes())]

    def prepare(self, copy: Path, limit: float, *, nearest_only: bool) -> Trials:
        reaches = {test: _reached(ROOT / test) for test in files_of(self.tests)}
        notes = copy.parent / "libraries"
        child = _fork(copy, lambda: _collect(copy, list(reaches), notes))
        if _wait(child, None) != pytest.ExitCode.OK:
            raise KuijiaError(f"{self.name}: its tests cannot be collected")
        for library in pickle.loads(notes.read_bytes()):  # noqa: S301  # our own
            with suppress(ImportError, AttributeError):  # some are parts of others and cannot be imported alone
                importlib.import_module(library)
        return _PythonTrials(copy, limit, reaches, nearest_only)


@dataclass
class _PythonTrials:
    """Asks the nearest test files first, and the others of the room about what survives them.

    Each time, tests begin as long as those before them took no more than `limit` seconds of a processor.

    Attributes:
        reaches: for each test file the modules that it imports, in how many steps.
        nearest_only: ask no others.
    """

    copy: Path
    limit: float
    reaches: dict[str, dict[str, int]]
    nearest_only: bool

    def verdict(self, change: Change) -> Verdict:
        cpu_limit = self.limit + _START_SECONDS
        with changed(self.copy, change):
            for tests in filter(None, self._by_nearness(change.file)):
                child = _fork(self.copy, partial(_ask, self.copy, tests, self.limit, cpu_limit))
                status = _wait(child, cpu_limit * _WAITING)
                if status is None or status in _KILLED_BY_LIMIT:
                    return Verdict.TIMED_OUT
                if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                    return Verdict.KILLED
        return Verdict.SURVIVED

    def _by_nearness(self, file: str) -> tuple[list[str], list[str]]:
        """Return the test files with a module's name and those that reach it by the fewest imports, and all others."""
        module = Path(file).with_suffix("").as_posix().replace("/", ".")
        steps = {test: reached.get(module, _FAR) for test, reached in self.reaches.items()}
        least = min(steps.values(), default=_FAR)
        nearest = [test for test in steps if Path(test).stem == f"test_{Path(file).stem}"]
        nearest += [test for test, step in steps.items() if step == least and test not in nearest]
        others = [] if self.nearest_only else sorted(steps.keys() - nearest, key=lambda test: (steps[test], test))
        return nearest, others


class _Limit:
    """Ends the tests without a failure when they have taken their seconds of a processor."""

    def __init__(self, seconds: float) -> None:
        self._end = time.process_time() + seconds

    def pytest_runtest_logfinish(self) -> None:
        if time.process_time() > self._end:
            os._exit(pytest.ExitCode.OK)


class _Failure:
    """Ends the process at once when a test fails: nothing that comes after it matters."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os._exit(pytest.ExitCode.TESTS_FAILED)


def _reached(test: Path) -> dict[str, int]:
    """Return the modules that a test imports, and that those import in turn, with the number of steps to each."""
    found: dict[str, int] = {}
    files, step = [test], 1
    while files:
        names = {name for file in files for name in _imported(file)} - found.keys()
        found.update(dict.fromkeys(names, step))
        files = [file for name in names if (file := ROOT / f"{name.replace('.', '/')}.py").is_file()]
        step += 1
    return found


@cache
def _imported(file: Path) -> frozenset[str]:
    """Return the names that a file imports modules by, and those that it imports from them."""
    found = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def _collect(copy: Path, tests: Sequence[str], notes: Path) -> int:
    """Collect tests, and note the libraries that were imported for that."""
    before = set(sys.modules)
    status = _run(copy, [*_OPTIONS, "--collect-only", *tests], [])
    own = {entry.name for entry in copy.iterdir()}
    libraries = [name for name in sys.modules if name not in before and name.partition(".")[0] not in own]
    # Sorted, as a package must come before what it imports while it is imported itself.
    notes.write_bytes(pickle.dumps(sorted(name for name in libraries if "/site-packages/" in _file_of(name))))
    return status


def _file_of(module: str) -> str:
    return getattr(sys.modules[module], "__file__", None) or ""


def _ask(copy: Path, tests: Sequence[str], seconds: float, cpu_limit: float) -> int:
    used = int(time.process_time() + cpu_limit) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used, used + 5))
    # The collection has left the bytecode of all modules as they are; that of changed ones is of no use later.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    return _run(copy, [*_OPTIONS, *tests], [_Limit(seconds), _Failure()])


def _run(copy: Path, arguments: Sequence[str], plugins: Sequence[object]) -> int:
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    return int(pytest.main(list(arguments), plugins=list(plugins)))


def _fork(copy: Path, work: Callable[[], int]) -> int:
    """Run `work` in a process group of its own, in silence and without the clone's own modules; return its number."""
    child = os.fork()
    if child == 0:
        _be_child(copy, work)
    return child


def _be_child(copy: Path, work: Callable[[], int]) -> NoReturn:
    status = int(pytest.ExitCode.INTERNAL_ERROR)
    try:
        os.setsid()
        with Path(os.devnull).open("r+b") as nowhere:
            for stream in range(3):
                os.dup2(nowhere.fileno(), stream)
        temporary = copy.parent / "temporary"
        temporary.mkdir(exist_ok=True)
        os.environ.update(PYTHONPATH=str(copy), TMPDIR=str(temporary))
        tempfile.tempdir = None
        own = {entry.name for entry in ROOT.iterdir()}
        for name in [name for name in sys.modules if name.partition(".")[0] in own]:
            del sys.modules[name]
        status = work()
    finally:
        os._exit(status)


def _wait(child: int, limit: float | None) -> int | None:
    """Return the exit status of a child, None after so many seconds; nothing of its group is left."""
    deadline = None if limit is None else time.monotonic() + limit
    status = None
    try:
        while status is None and (deadline is None or time.monotonic() < deadline):
            done, code = os.waitpid(child, os.WNOHANG)
            if done:
                status = os.waitstatus_to_exitcode(code)
            else:
                time.sleep(0.02)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if status is None:
            os.waitpid(child, 0)
    return status
