"""Fuzz target: networks with odd names, capacities and shapes, from the file to the plan that `kuijia solve` writes."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

from tests.fuzz import examples
from tests.fuzz.command_line import RefusedError, run_command
from tests.fuzz.file_target import FileTarget, YamlGrammar
from tests.fuzz.targets import CaseTarget

_LARGEST = 3_000
"""Bytes of a network; a larger one may ask for long work with good reason."""


class SolveTarget(FileTarget):
    """`kuijia demands` and `kuijia solve`, with HiGHS in this process."""

    share = 0.03
    seconds = 10.0

    def prepare(self) -> None:
        super().prepare()
        importlib.import_module("te_solver.solve")  # takes seconds, which only this target should cost

    def make(self, random: Random) -> bytes:
        while len(content := super().make(random)) > _LARGEST:
            pass
        return content


def solve_network(path: Path) -> None:
    """Make demands for a network and solve it."""
    demands = path.with_name("demands.csv")
    run_command(["demands", str(path), "-o", str(demands)])
    try:
        run_command(["solve", str(path), str(demands), "-o", str(path.with_name("plan.json"))])
    except RefusedError:
        demands.unlink()  # which is whole, and would be taken for what a refused command left behind
        raise


TARGETS: Sequence[CaseTarget] = (
    SolveTarget(
        "solve:yaml",
        "case.yaml",
        partial(examples.texts, "triangle.yaml", "directed.yaml"),
        solve_network,
        YamlGrammar(),
    ),
)
