"""A room of a compiled core: all changes are compiled at once, and each trial switches one of them on.

The core of the copy, and its driver of single parts, have all changes. The tests of the parts that a file belongs to
are asked first, then those of the room, the file's namesake before the others.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path

from kuijia_base.errors import KuijiaError
from tests.mutants.change import Change
from tests.mutants.cpp_changes import Switched, find_changes, switched
from tests.mutants.process import Processes
from tests.mutants.room import ROOT, Trials, Verdict, files_of
from tests.sanitized import COMPILER
from tests.simulator.packet.steps import BUILT, build_parts

_HEADER = Path(__file__).with_name("switches.hpp")
_FLAGS = (
    *("-std=c++20", "-O1", "-g0", "-w", "-Wno-narrowing", "-fvisibility=hidden", "-ffp-contract=off", "-fPIC"),
    "-D_GLIBCXX_ASSERTIONS",  # what reads beyond the end of a vector is noticed
)
_NO_CHANGE = -1


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
        environment = {}
        if self.core == "simulator/packet":
            environment[BUILT] = str(build_parts(copy.parent, core).program)
        void = set() if nearest_only and self.nearest else impossible_changes(_build_core(copy, core))
        processes = Processes(copy, limit)
        processes.collect(self.tests)
        return _CoreTrials(self, processes, nearest_only, numbers, void, environment)


@dataclass
class _CoreTrials:
    room: CoreRoom
    processes: Processes
    nearest_only: bool
    numbers: dict[Change, int]
    void: set[int]
    environment: dict[str, str]

    def verdict(self, change: Change) -> Verdict:
        number = self.numbers.get(change, _NO_CHANGE)
        if number in self.void:
            return Verdict.IMPOSSIBLE
        for tests in self._by_nearness(change.file):
            verdict = self.processes.verdict(tests, self.environment | {"KUIJIA_CHANGE": str(number)})
            if verdict is not Verdict.SURVIVED:
                return verdict
        return Verdict.SURVIVED

    def _by_nearness(self, file: str) -> list[Sequence[str]]:
        nearest = [tests for pattern, tests in self.room.nearest.items() if fnmatch(file, pattern)]
        if self.nearest_only and self.room.nearest:
            return nearest
        namesake = f"test_{Path(file).stem}"
        return [*nearest, sorted(self.room.tests, key=lambda test: Path(test).stem != namesake)]


def _build_core(copy: Path, core: Path) -> Path:
    """Compile a core in place of its module, a folder at a time as `setup.py` does, and return the module."""
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
    return module


def impossible_changes(module: Path) -> set[int]:
    """Return the numbers of changes that compile for no type that they meet: these alter nothing."""
    symbols = module.read_bytes()
    impossible, possible = (
        {int(number) for number in re.findall(rf"7changes\d+{name}ILi(\d+)E".encode(), symbols)}
        for name in ("impossible", "possible")
    )
    return impossible - possible


def _run(command: Sequence[str]) -> None:
    if subprocess.run(command, check=False).returncode != 0:
        raise KuijiaError(f"{command[0]} failed")
