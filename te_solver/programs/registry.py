"""The objectives by name, ours and those of packages; a module, and CVXPY with it, is imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kuijia_base.additions import OBJECTIVES, Addition, additions

if TYPE_CHECKING:
    from te_solver.programs.program import Objective

MAX_THROUGHPUT = "max-throughput"
MAX_MIN = "max-min"
FFC = "ffc"
MIN_MAX_UTILISATION = "min-max-utilisation"
STATIC_SPLITS = "static-splits"
CARRY_ALL = frozenset({MIN_MAX_UTILISATION, STATIC_SPLITS})
"""Objectives whose plans carry all demand, and whose value is the utilisation of the busiest link."""


_MODULES = {
    MAX_THROUGHPUT: "max_throughput",
    MAX_MIN: "max_min",
    FFC: "ffc",
    MIN_MAX_UTILISATION: "min_max_utilisation",
    STATIC_SPLITS: "static_splits",
}


def objective_names() -> tuple[str, ...]:
    return (*_MODULES, *_additions())


def find_objective(name: str) -> Objective:
    """Return the objective of this name.

    Raises:
        KeyError: it is unknown.
        InputError: the package that adds it is broken.
    """
    if name not in _MODULES:
        from te_solver.programs.program import Objective  # noqa: PLC0415  # slow to import: CVXPY

        addition = _additions()[name]
        added = addition.load(Objective)
        addition.require_name(added.name)
        return added
    objective: Objective = import_module(f"te_solver.programs.{_MODULES[name]}").OBJECTIVE
    return objective


def _additions() -> dict[str, Addition]:
    return additions(OBJECTIVES, _MODULES)
