"""Runs of pytest in processes forked from one that has imported all libraries, or collected all tests.

What a run may take is counted in seconds of a processor: a busy machine kills no more changes than an idle one.
"""

from __future__ import annotations

import cProfile
import importlib
import os
import resource
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType
from typing import NoReturn

import pytest
from hypothesis import Phase, settings

from kuijia_base.errors import KuijiaError
from tests.mutants.live_code import replace_code
from tests.mutants.room import ROOT, Verdict

_OPTIONS = (
    *("-q", "-x", "-p", "no:cacheprovider", "-m", "not ovs and not emulation and not kernel"),
    *("-p", "no:unraisableexception"),  # what a fork meets, such as a lock that is gone, is no failure of a test
)
_START_SECONDS = 10.0
"""Seconds of a processor that imports and the collection of tests may take."""

_WAITING = 6
"""Time that a run may take but for that in which it waits for a processor, as a multiple of its seconds of one."""

_UNSURE = 99
"""Exit status of a run on replaced code that decides nothing: the module must be imported again."""

_KILLED_BY_LIMIT = (-signal.SIGXCPU, -signal.SIGKILL)


@dataclass(frozen=True)
class Processes:
    """Asks tests of a copy of the clone, each time in a process of its own.

    Tests begin as long as those before them took no more than `limit` seconds of a processor.
    """

    copy: Path
    limit: float

    def collect(self, tests: Sequence[str]) -> Collected:
        """Import the libraries of these tests; raise `KuijiaError` if the tests cannot be collected."""
        ours, its = Pipe()
        server = _fork(self.copy, {}, partial(_serve, self.copy, tests, self.limit, ours, its))
        its.close()
        try:
            libraries = ours.recv()
        except EOFError:
            _wait(server, None)
            raise KuijiaError("the tests of the room cannot be collected") from None
        for library in libraries:
            with suppress(ImportError, AttributeError):  # some are parts of others and cannot be imported alone
                importlib.import_module(library)
        return Collected(ours)

    def verdict(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Verdict:
        """Run pytest with these arguments, and return what it says of the copy."""
        cpu_limit = self.limit + _START_SECONDS
        child = _fork(self.copy, environment, partial(_ask, self.copy, arguments, self.limit, cpu_limit))
        return _verdict(_wait(child, cpu_limit * _WAITING))


@dataclass(frozen=True)
class Collected:
    """Asks a process that has collected the tests, which it does not do again."""

    pipe: Connection

    def verdict(self, tests: Sequence[str], file: str, source: bytes) -> Verdict | None:
        """Return what test files say of a file that had this source before; None if only a new import can tell."""
        self.pipe.send((tests, file, source))
        status: int | None = self.pipe.recv()
        return None if status == _UNSURE else _verdict(status)


def _verdict(status: int | None) -> Verdict:
    if status is None or status in _KILLED_BY_LIMIT:
        return Verdict.TIMED_OUT
    passed = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    return Verdict.SURVIVED if passed else Verdict.KILLED


class _Limit:
    """Ends the tests without a failure when they have taken their seconds of a processor."""

    def __init__(self, seconds: float, status: int = pytest.ExitCode.OK) -> None:
        self._end = time.process_time() + seconds
        self._status = status

    def pytest_runtest_logfinish(self) -> None:
        if time.process_time() > self._end:
            os._exit(self._status)


class _Failure:
    """Ends the process at once when a test fails: nothing that comes after it matters."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os._exit(pytest.ExitCode.TESTS_FAILED)


class _Server:
    """Runs collected tests on replaced code, each time in a fork, as requests of a pipe say."""

    def __init__(self, pipe: Connection, copy: Path, seconds: float) -> None:
        self._pipe, self._copy, self._seconds = pipe, copy, seconds
        self._modules = set(sys.modules)
        self._profile = cProfile.Profile()
        self._profile.enable()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        self._profile.disable()
        if session.testsfailed:
            return None
        own = {entry.name for entry in self._copy.iterdir()}
        libraries = [name for name in sys.modules if name not in self._modules and name.partition(".")[0] not in own]
        # Sorted, as a package must come before what it imports while it is imported itself.
        self._pipe.send(sorted(name for name in libraries if "/site-packages/" in _file_of(name)))
        run_before = frozenset(each.code for each in self._profile.getstats() if isinstance(each.code, CodeType))
        items = defaultdict(list)
        for item in session.items:
            items[item.nodeid.partition("::")[0]].append(item)
        with suppress(EOFError):
            while True:
                tests, file, source = self._pipe.recv()
                replace = partial(replace_code, self._copy / file, source, run_before)
                asked = [item for test in tests for item in items[test]]
                self._pipe.send(self._status(session, replace, sorted(asked, key=_is_slow)))
        return True

    def _status(
        self, session: pytest.Session, replace: Callable[[], bool | None], items: list[pytest.Item]
    ) -> int | None:
        cpu_limit = self._seconds + _START_SECONDS
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                _limit(cpu_limit)
                is_sure = replace()
                if is_sure is not None:
                    self._ask(session, pytest.ExitCode.OK if is_sure else _UNSURE, items)
            finally:
                os._exit(_UNSURE)
        return _wait(child, cpu_limit * _WAITING)

    def _ask(self, session: pytest.Session, passed: int, items: list[pytest.Item]) -> NoReturn:
        for plugin in (_Limit(self._seconds, passed), _Failure()):
            session.config.pluginmanager.register(plugin)
        for item, following in zip(items, [*items[1:], None], strict=True):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        os._exit(passed)


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def _serve(copy: Path, tests: Sequence[str], seconds: float, ours: Connection, its: Connection) -> int:
    ours.close()
    return _run(copy, [*_OPTIONS, *tests], [_Server(its, copy, seconds)])


def _file_of(module: str) -> str:
    return getattr(sys.modules[module], "__file__", None) or ""


def _ask(copy: Path, arguments: Sequence[str], seconds: float, cpu_limit: float) -> int:
    _limit(cpu_limit)
    return _run(copy, [*_OPTIONS, *arguments], [_Limit(seconds), _Failure()])


def _limit(cpu_limit: float) -> None:
    used = int(time.process_time() + cpu_limit) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used, used + 5))
    # The collection has left the bytecode of all modules as they are; that of changed ones is of no use later.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def _run(copy: Path, arguments: Sequence[str], plugins: Sequence[object]) -> int:
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate), database=None)
    settings.load_profile("mutants")  # nobody asks for the simplest input that fails
    return int(pytest.main(list(arguments), plugins=list(plugins)))


def _fork(copy: Path, environment: Mapping[str, str], work: Callable[[], int]) -> int:
    """Run `work` in a process group of its own, in silence and without the clone's own modules; return its number."""
    child = os.fork()
    if child == 0:
        _be_child(copy, environment, work)
    return child


def _be_child(copy: Path, environment: Mapping[str, str], work: Callable[[], int]) -> NoReturn:
    status = int(pytest.ExitCode.INTERNAL_ERROR)
    try:
        os.setsid()
        with Path(os.devnull).open("r+b") as nowhere:
            for stream in range(3):
                os.dup2(nowhere.fileno(), stream)
        temporary = copy.parent / "temporary"
        temporary.mkdir(exist_ok=True)
        os.environ.update(environment, PYTHONPATH=str(copy), TMPDIR=str(temporary))
        tempfile.tempdir = None
        own = {entry.name for entry in ROOT.iterdir()}
        for name in [name for name in sys.modules if name.partition(".")[0] in own]:
            del sys.modules[name]
        status = work()
    finally:
        os._exit(status)


def _wait(child: int, limit: float | None) -> int | None:
    """Return the exit status of a child, None after so many seconds; nothing of its group is left."""
    begun = time.monotonic()
    status = None
    try:
        while status is None and (limit is None or time.monotonic() - begun - _starved(child) < limit):
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


def _starved(process: int) -> float:
    """Return the seconds in which a process was ready to run but others had the processors; 0 if that is unknown."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0
