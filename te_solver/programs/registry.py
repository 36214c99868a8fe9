"""The objectives by name; the module of an objective, and CVXPY with it, is imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from te_solver.programs.program import Objective

MAX_THROUGHPUT = "max-throughput"
MAX_MIN = "max-min"
FFC = "ffc"
MIN_MAX_UTILISATION = "min-max-utilisation"

_MODULES = {
    MAX_THROUGHPUT: "max_throughput",
    MAX_MIN: "max_min",
    FFC: "ffc",
    MIN_MAX_UTILISATION: "min_max_utilisation",
}


def objective_names() -> tuple[str, ...]:
    return tuple(_MODULES)


def find_objective(name: str) -> Objective:
    """Return the objective of this name; raises KeyError if it is unknown."""
    objective: Objective = import_module(f"te_solver.programs.{_MODULES[name]}").OBJECTIVE
    return objective
