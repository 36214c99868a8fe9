"""A room of a compiled core: all changes are compiled at once, and each trial switches one of them on.

Each trial is a run of pytest in a copy of the clone whose core, and whose driver of single parts, have all changes. The
tests of the parts that a file belongs to are asked first, then those of the room.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path

from kuijia_base.errors import KuijiaError
from tests.mutants.change import Change
from tests.mutants.cpp_changes import Switched, find_changes, switched
from tests.mutants.room import ROOT, Trials, Verdict, files_of
from tests.sanitized import COMPILER
from tests.simulator.packet.steps import BUILT, build_parts

_HEADER = Path(__file__).with_name("switches.hpp")
_FLAGS = ("-std=c++20", "-O1", "-g0", "-w", "-Wno-narrowing", "-fvisibility=hidden", "-ffp-contract=off", "-fPIC")
_PYTEST = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not ovs and not emulation and not kernel")
_OUTCOMES = {0: Verdict.SURVIVED, -24: Verdict.TIMED_OUT, -9: Verdict.TIMED_OUT}
_WAITING = 10
"""Wall time that a trial may take, as a multiple of its seconds of a processor: machines are busy."""


@dataclass(frozen=True)
class CoreRoom:
    """Files of a compiled core, and its tests.

    Attributes:
        core: the package that has the core.
        files: patterns of its sources.
        nearest: arguments of pytest for files of a pattern, whose tests take parts of the core alone.
        tests: arguments of pytest for what survives these, and for other files.
    """

    name: str
    core: str
    files: Sequence[str]
    nearest: dict[str, Sequence[str]]
    tests: Sequence[str]

    def changes(self) -> list[Change]:
        return [each.change for file in files_of(self.files) for each in find_changes(file, (ROOT / file).read_text())]

    def prepare(self, copy: Path, limit: float, *, nearest_only: bool) -> Trials:
        numbers: dict[Change, int] = {}
        for file in files_of(self.files):
            source = (copy / file).read_text()
            found: list[Switched] = find_changes(file, source)
            (copy / file).write_text(f'#include "switches.hpp"\n{switched(source, found, len(numbers))}')
            numbers |= {each.change: number for number, each in enumerate(found, len(numbers))}
        core = copy / self.core / "core"
        (core / _HEADER.name).write_bytes(_HEADER.read_bytes())
        environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        if self.core == "simulator/packet":
            environment[BUILT] = str(build_parts(copy.parent, core).program)
        if not (nearest_only and self.nearest):
            _build_core(copy, core)
        return _CoreTrials(self, copy, limit, nearest_only, numbers, environment)


@dataclass
class _CoreTrials:
    room: CoreRoom
    copy: Path
    limit: float
    nearest_only: bool
    numbers: dict[Change, int]
    environment: dict[str, str] = field(repr=False)

    def verdict(self, change: Change) -> Verdict:
        nearest = [tests for pattern, tests in self.room.nearest.items() if fnmatch(change.file, pattern)]
        found = Verdict.SURVIVED
        for tests in nearest if self.nearest_only and self.room.nearest else [*nearest, self.room.tests]:
            found = self._ask(self.numbers[change], tests)
            if found is not Verdict.SURVIVED:
                break
        return found

    def _ask(self, number: int, tests: Sequence[str]) -> Verdict:
        seconds = int(self.limit) + 1
        process = subprocess.Popen(
            [sys.executable, *_PYTEST, *tests],
            cwd=self.copy,
            env=self.environment | {"KUIJIA_CHANGE": str(number)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1)),  # noqa: PLW1509
        )
        try:
            status = process.wait(self.limit * _WAITING)
        except subprocess.TimeoutExpired:
            status = -9
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()
        return _OUTCOMES.get(status, Verdict.KILLED)


def _build_core(copy: Path, core: Path) -> None:
    """Compile a core in place of its module, a folder at a time as `setup.py` does."""
    libraries = copy.parent / "libraries"
    wanted = [
        line for line in (copy / "requirements" / "build.txt").read_text().split("\n") if line.startswith("pybind11")
    ]
    _run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(libraries), *wanted])
    folders = [str(core), str(copy), str(libraries / "pybind11" / "include"), sysconfig.get_path("include")]
    objects = []
    for folder, sources in groupby(
        sorted(core.rglob("*.cpp"), key=lambda source: source.parent), lambda each: each.parent
    ):
        together = copy.parent / f"all_{folder.name}.cpp"
        together.write_text("".join(f'#include "{source}"\n' for source in sources))
        objects.append(str(together.with_suffix(".o")))
        _run([COMPILER, *_FLAGS, *(f"-I{path}" for path in folders), "-c", str(together), "-o", objects[-1]])
    (module,) = core.parent.glob("_core.*.so")
    _run([COMPILER, "-shared", "-o", str(module), *objects])


def _run(command: Sequence[str]) -> None:
    if subprocess.run(command, check=False).returncode != 0:
        raise KuijiaError(f"{command[0]} failed")
