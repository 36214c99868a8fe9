"""Solvers of CVXPY problems, as users choose them, the only module that knows their names; Ctrl-C ends them at once."""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, TypeVar

from kuijia_base.errors import SolverError, UnsoundError, quoted

if TYPE_CHECKING:
    import cvxpy as cp


Value = TypeVar("Value")


_WATCH_SECONDS = 1.0
"""Time between two calls of `watch`."""


def interruptible(work: Callable[[], Value], watch: Callable[[float], None] | None = None) -> Value:
    """Return what `work` returns, or raise what it raises; Ctrl-C raises KeyboardInterrupt here without waiting for it.

    Python acts on signals between two steps of the main thread, and compiled code is one step. So the work is done in
    another thread, which cannot be stopped: after an interrupt, the process ends without waiting for it.

    Args:
        work: the call.
        watch: called every second with the seconds since the beginning; only in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    future: Future[Value] = Future()
    working = _thread.allocate_lock()
    working.acquire()
    begun = time.monotonic()
    # Nothing here waits on a Condition, as Thread.start and Future.result do: Ctrl-C between two of its steps leaves it
    # without its lock, and then it raises RuntimeError.
    _thread.start_new_thread(copy_context().run, (_settle, future, work, working))
    try:
        while not working.acquire(timeout=_WATCH_SECONDS):
            if watch is not None:
                watch(time.monotonic() - begun)
        return future.result()
    except KeyboardInterrupt:
        if not future.done():
            atexit.register(_leave, future)
        raise


def _settle(future: Future[Value], work: Callable[[], Value], working: _thread.LockType) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001  # it is raised in the thread that waits
        future.set_exception(error)
    finally:
        working.release()


def _leave(future: Future[Value]) -> None:
    """End the process under a thread that still works: ending libraries beside it could crash."""
    if not future.done():
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(128 + signal.SIGINT)


_HIGHS = "HIGHS"

HIGHS_OPTIONS: dict[str, object] = {"solver": "simplex", "threads": 1, "random_seed": 0}
"""Options of HiGHS; simplex in one thread returns the same optimal vertex every time."""

_PRIMAL_SIMPLEX = {"simplex_strategy": 4}

INTERIOR: Mapping[str, object] = {"solver": "ipm", "run_crossover": "off", "ipm_optimality_tolerance": 1e-9}
"""Options of HiGHS for its interior point method; no crossover: for programs that simplex takes minutes for."""

FIRST_ORDER: Mapping[str, object] = {"solver": "pdlp", "output_flag": False, "pdlp_optimality_tolerance": 1e-8}
"""Options of HiGHS for PDLP (Applegate et al., NeurIPS 2021): products of matrix and vector alone, no factors."""

_OF_HIGHS = {"HIGHS-IPM": INTERIOR, "HIGHS-PDLP": FIRST_ORDER}
"""Names of ours for further methods of HiGHS."""

_NO_SOLUTION = "Cannot unpack invalid solution"
"""Beginning of CVXPY's ValueError where HiGHS ends with status "unknown"."""

_PRECISE: Mapping[str, object] = {"eps_abs": 1e-9, "eps_rel": 1e-9}
"""Tolerances of first-order solvers, whose defaults favour speed; errors reach one part in a thousand."""

_OPTIONS: Mapping[str, Mapping[str, object]] = {
    _HIGHS: {"highs_options": HIGHS_OPTIONS},
    "SCS": {**_PRECISE, "max_iters": 200_000},
    "OSQP": {**_PRECISE, "max_iter": 200_000},
}

_TITLES = {_HIGHS: "HiGHS", "HIGHS-IPM": "HiGHS (interior point)", "HIGHS-PDLP": "HiGHS (PDLP)"}
_PACKAGES = dict.fromkeys((_HIGHS, *_OF_HIGHS), "highspy")
"""Names of packages that are not the solver's name in lower case."""


@dataclass(frozen=True)
class Solver:
    """A solver that CVXPY can use, or a method of HiGHS.

    Attributes:
        name: CVXPY's for it.
        primal: use the primal simplex method instead of the dual one; only HiGHS respects it.
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
            solved = self._solved(problem, self._options)
            if not solved and self.of_highs:
                # Undoing presolve can spoil the duals of a solution without a basis (HiGHS's issue 2306).
                solved = self._solved(problem, {"highs_options": {**HIGHS_OPTIONS, **self.of_highs, "presolve": "off"}})
        except cp.SolverError as error:
            raise SolverError(f"{_title(self.name)} failed: {' '.join(str(error).split())}") from error
        status = problem.status if solved else "unknown"
        if status != cp.OPTIMAL:
            raise SolverError(f"{_title(self.name)} gave up with status {status}, no plan was made")
        in_solver = problem.solver_stats.solve_time
        return time.perf_counter() - started if in_solver is None else float(in_solver)

    def _solved(self, problem: cp.Problem, options: Mapping[str, object]) -> bool:
        """Solve a problem in place; return False if HiGHS ends with status "unknown"."""
        name = _HIGHS if self.name in _OF_HIGHS else self.name
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of inaccurate solutions, which the status reports
                interruptible(lambda: problem.solve(solver=name, warm_start=False, **options), self.watch)
        except ValueError as error:
            if not str(error).startswith(_NO_SOLUTION):
                raise
            return False
        return True

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
