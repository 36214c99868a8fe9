"""Solvers of CVXPY problems, as users choose them; the only module that knows solvers by name."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from kuijia_base.errors import SolverError, UnsoundError, quoted
from te_solver.programs.interruption import interruptible

if TYPE_CHECKING:
    import cvxpy as cp

_HIGHS = "HIGHS"

HIGHS_OPTIONS: dict[str, object] = {"solver": "simplex", "threads": 1, "random_seed": 0}
"""Options of HiGHS; simplex in one thread returns the same optimal vertex every time."""

_PRIMAL_SIMPLEX = {"simplex_strategy": 4}

INTERIOR: Mapping[str, object] = {"solver": "ipm", "run_crossover": "off", "ipm_optimality_tolerance": 1e-9}
"""Options of HiGHS for its interior point method; no crossover: for programs that simplex takes minutes for."""

FIRST_ORDER: Mapping[str, object] = {"solver": "pdlp", "pdlp_optimality_tolerance": 1e-8}
"""Options of HiGHS for PDLP (Applegate et al., NeurIPS 2021): products of matrix and vector alone, no factors."""

_OF_HIGHS = {"HIGHS-IPM": INTERIOR, "HIGHS-PDLP": FIRST_ORDER}
"""Names of ours for further methods of HiGHS."""

_FIRST_ORDER_TOLERANCE = 1e-9
_FIRST_ORDER_STEPS = 200_000

_OPTIONS: Mapping[str, Mapping[str, object]] = {
    _HIGHS: {"highs_options": HIGHS_OPTIONS},
    # Their defaults favour speed; errors reach one part in a thousand.
    "SCS": {
        "eps_abs": _FIRST_ORDER_TOLERANCE,
        "eps_rel": _FIRST_ORDER_TOLERANCE,
        "max_iters": _FIRST_ORDER_STEPS,
    },
    "OSQP": {
        "eps_abs": _FIRST_ORDER_TOLERANCE,
        "eps_rel": _FIRST_ORDER_TOLERANCE,
        "max_iter": _FIRST_ORDER_STEPS,
    },
}

_TITLES = {_HIGHS: "HiGHS", "HIGHS-IPM": "HiGHS (interior point)", "HIGHS-PDLP": "HiGHS (PDLP)"}
_PACKAGES = dict.fromkeys((_HIGHS, *_OF_HIGHS), "highspy")
"""Names of packages that are not the solver's name in lower case."""


@dataclass(frozen=True)
class Solver:
    """A solver that CVXPY can use, or a method of HiGHS.

    Attributes:
        name: CVXPY's for it.
        primal: use the primal simplex method instead of the dual one; only HiGHS heeds it.
        watch: called every second that a program takes, with the seconds since its beginning.
    """

    name: str = _HIGHS
    primal: bool = False
    watch: Callable[[float], None] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def named(cls, name: str) -> Solver:
        """Return the installed solver of this name, in any case.

        Raises:
            UnsoundError: it is not installed.
        """
        import cvxpy as cp  # noqa: PLC0415  # slow to import

        known = [*cp.installed_solvers(), *_OF_HIGHS]
        if name.upper() not in known:
            problem = f"solver {quoted(name)} is not installed"
            raise UnsoundError(("solver",), problem, f"one of {', '.join(sorted(known))}")
        return cls(name.upper())

    @property
    def title(self) -> str:
        """Name and version, such as `HiGHS 1.15.1`."""
        return _with_version(self.name)

    @property
    def of_highs(self) -> Mapping[str, object]:
        """Options of HiGHS that the name adds to those of every solution; none for its simplex method."""
        return _OF_HIGHS.get(self.name, {})

    def run(self, problem: cp.Problem) -> float:
        """Solve a problem in place, without a warm start; return the seconds spent in the solver.

        Raises:
            SolverError: there is no optimum, or the solver did not find it.
        """
        import cvxpy as cp  # noqa: PLC0415  # slow to import

        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of inaccurate solutions, which the status reports
                name = _HIGHS if self.name in _OF_HIGHS else self.name
                interruptible(lambda: problem.solve(solver=name, warm_start=False, **self._options), self.watch)
        except (cp.SolverError, ValueError) as error:  # the latter where HiGHS ends with status "unknown"
            raise SolverError(f"{_title(self.name)} failed: {' '.join(str(error).split())}") from error
        if problem.status != cp.OPTIMAL:
            raise SolverError(f"{_title(self.name)} gave up with status {problem.status}, no plan was made")
        in_solver = problem.solver_stats.solve_time
        return time.perf_counter() - started if in_solver is None else float(in_solver)

    @property
    def _options(self) -> Mapping[str, object]:
        if self.name in _OF_HIGHS:
            return {"highs_options": {**HIGHS_OPTIONS, **self.of_highs}}
        if self.primal and self.name == _HIGHS:
            return {"highs_options": {**HIGHS_OPTIONS, **_PRIMAL_SIMPLEX}}
        return _OPTIONS.get(self.name, {})


def _title(name: str) -> str:
    return _TITLES.get(name, name)


@cache
def _with_version(name: str) -> str:
    try:
        return f"{_title(name)} {version(_PACKAGES.get(name, name.lower()))}"
    except PackageNotFoundError:
        return _title(name)
