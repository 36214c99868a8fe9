"""What an objective is: a program compiled once for tunnels and solved for any capacities and demands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from te_solver.errors import UnsoundError
from te_solver.plan import Plan
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.scale import Scale
from te_solver.programs.solver import Solver

_DUST = 1e-9
"""Capacity below this share of a link's is what rounding leaves of a full link."""

Formulation = Literal["enumeration", "compact", "smaller"]


@dataclass(frozen=True)
class Options:
    """What users choose beside the objective.

    Attributes:
        spread: divide the traffic of each pair over its tunnels as evenly as the objective allows, instead of
            preferring the shorter ones.
        protect: how many failed links (edges, both directions at once) an `ffc` plan survives without loss.
        formulation: how `ffc` writes its protection; the optimum is the same, see `programs.ffc`.
        solver: solves the programs.

    Raises:
        UnsoundError: `protect` is less than one.
    """

    spread: bool = False
    protect: int = 1
    formulation: Formulation = "smaller"
    solver: Solver = field(default_factory=Solver)

    def __post_init__(self) -> None:
        if self.protect < 1:
            raise UnsoundError(("protect",), f"protection against {self.protect} failures", "one or more")


@dataclass(frozen=True)
class Allocation:
    """What tunnels and pairs get, and how it was found.

    Attributes:
        rates: Mbit/s of each tunnel, shape (T,).
        granted: Mbit/s of each pair, shape (P,).
        solver: name and version.
        solve_seconds: spent in the solver.
        upper_bound: Mbit/s that pairs can together not get more than, where they may not get the most there is.
    """

    rates: Vector
    granted: Vector
    solver: str
    solve_seconds: float
    upper_bound: float | None = None


class Program(ABC):
    """One objective over T tunnels of P pairs on L links.

    It is compiled when it is first solved and again only when numbers are so far from those it was compiled for that
    the solver's tolerances would mean something else (see `Scale`). No solution starts from the one before it.
    """

    def __init__(self, incidence: Incidence, options: Options | None = None) -> None:
        self.incidence = incidence
        self.options = options or Options()
        self._scale: Scale | None = None

    def solve(self, capacity: Vector, demand: Vector, carried: Vector | None = None) -> Allocation:
        """The best rates within link capacities and pair demands.

        Args:
            capacity: Mbit/s of each link, shape (L,), not negative.
            demand: Mbit/s of each pair, shape (P,), not negative.
            carried: Mbit/s that each link carries already, for more important traffic, shape (L,).

        Raises:
            SolverError: the solver did not reach an optimum.
        """
        taken = np.zeros(capacity.shape) if carried is None else carried
        room = self._room(capacity, taken)
        if self._scale is None or not self._scale.suits(room, demand):
            self._scale = Scale.of(self.incidence, room, demand)
            self._compile(self._scale)
        return self._solve(room, demand, taken)

    def _room(self, capacity: Vector, carried: Vector) -> Vector:
        """What of each link's capacity the program may use."""
        left = capacity - carried
        return np.where(left > _DUST * capacity, left, 0.0)

    @abstractmethod
    def _compile(self, scale: Scale) -> None:
        """Make the CVXPY problems, with capacities and demands as parameters."""

    @abstractmethod
    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        """Solve what was compiled."""


@dataclass(frozen=True)
class Objective:
    """What users choose by name.

    Attributes:
        name: what plans and the command line call it.
        program: makes its program.
        value: what a plan is worth by it.
        protects: whether its plans survive `Options.protect` failed edges without loss.
    """

    name: str
    program: Callable[[Incidence, Options], Program]
    value: Callable[[Plan], float]
    protects: bool = False
