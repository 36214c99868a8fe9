"""A room of Python modules: each change meets the test files that are nearest to it, then the others of the room."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutants.change import Change
from tests.mutants.process import Collected, Processes
from tests.mutants.python_changes import changes_of
from tests.mutants.room import ROOT, Trials, Verdict, changed, files_of

_FAR = 99
"""Steps to what is not imported at all."""

_FIRST = 4
"""Nearest test files that are collected before the others, as most changes are killed by these."""


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
        processes = Processes(copy, limit)
        return _PythonTrials(processes, processes.collect(list(reaches)), reaches, nearest_only)


@dataclass
class _PythonTrials:
    """Asks the nearest test files first, and the others of the room about what survives them.

    Attributes:
        reaches: for each test file the modules that it imports, in how many steps.
        nearest_only: ask no others.
    """

    processes: Processes
    collected: Collected
    reaches: dict[str, dict[str, int]]
    nearest_only: bool

    def verdict(self, change: Change) -> Verdict:
        source = (self.processes.copy / change.file).read_bytes()
        with changed(self.processes.copy, change):
            for tests in filter(None, self._by_nearness(change.file)):
                verdict = self.collected.verdict(tests, change.file, source) or self.processes.verdict(tests, {})
                if verdict is not Verdict.SURVIVED:
                    return verdict
        return Verdict.SURVIVED

    def _by_nearness(self, file: str) -> list[list[str]]:
        """Return the test files with a module's name and those that reach it by the fewest imports, then all others.

        Of equally near ones those that reach the fewest modules come first: they ask the most about this one.
        """
        module = Path(file).with_suffix("").as_posix().replace("/", ".")
        steps = {test: reached.get(module, _FAR) for test, reached in self.reaches.items()}
        least = min(steps.values(), default=_FAR)
        nearest = [test for test in steps if Path(test).stem == f"test_{Path(file).stem}"]
        ranked = sorted(steps, key=lambda test: (steps[test], len(self.reaches[test]), test))
        nearest += [test for test in ranked if steps[test] == least and test not in nearest]
        others = [] if self.nearest_only else [test for test in ranked if test not in nearest]
        return [nearest[:_FIRST], nearest[_FIRST:], others]


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
