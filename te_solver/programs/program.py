"""Objectives and their programs, compiled once for tunnels and solved for any capacities and demands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from kuijia_base.errors import UnsoundError
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.partition import Partitioning
from te_solver.programs.scale import Scale
from te_solver.programs.settings import Settings, Values
from te_solver.programs.solver import Solver
from te_solver.tunnels.finder import Paths

_DUST = 1e-9
"""Remaining capacity below this share of a link's is rounding."""

Pair = tuple[str, str]

Formulation = Literal["enumeration", "compact", "smaller"]


@dataclass(frozen=True)
class Options:
    """Options of users in addition to the objective.

    Attributes:
        spread: divide the traffic of each pair over its tunnels as evenly as the objective allows, instead of
            preferring the shorter ones.
        protect: number of failed links (edges, both directions at once) that an `ffc` plan survives without loss.
        formulation: formulation of `ffc`'s protection; the optimum is the same, see `programs.ffc`.
        solver: the solver of the programs.
        shares: of `static-splits`: the share of its pair's demand that each tunnel gets, shape (T,); None for equal
            ones.
        settings: values of the settings of the objective; those left out have their defaults.

    Raises:
        UnsoundError: `protect` is less than one.
    """

    spread: bool = False
    protect: int = 1
    formulation: Formulation = "smaller"
    solver: Solver = field(default_factory=Solver)
    shares: Vector | None = None
    settings: Values = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.protect < 1:
            raise UnsoundError(("protect",), f"protection against {self.protect} failures", "one or more")


@dataclass(frozen=True)
class Allocation:
    """The rates of tunnels and pairs, and how they were found.

    Attributes:
        rates: Mbit/s of each tunnel, shape (T,).
        granted: Mbit/s of each pair, shape (P,).
        solver: name and version of the solver.
        solve_seconds: seconds spent in the solver.
        upper_bound: upper bound of the sum of grants in Mbit/s; None if the grants are optimal.
        value: value of the objective if rates and grants do not tell it.
    """

    rates: Vector
    granted: Vector
    solver: str
    solve_seconds: float
    upper_bound: float | None = None
    value: float | None = None


class Program(ABC):
    """One objective over T tunnels of P pairs on L links.

    It is compiled when it is first solved, and again only when numbers are so far from those it was compiled for that
    the solver's tolerances would change their meaning (see `Scale`). No solution starts from an earlier one.

    Attributes:
        settings: settings of the objective, by name.
    """

    settings: ClassVar[Settings] = {}

    def __init__(self, incidence: Incidence, options: Options | None = None) -> None:
        self.incidence = incidence
        self.options = options or Options()
        self._scale: Scale | None = None

    def solve(self, capacity: Vector, demand: Vector, carried: Vector | None = None) -> Allocation:
        """Return the best rates within link capacities and pair demands.

        Args:
            capacity: Mbit/s of each link, shape (L,), not negative.
            demand: Mbit/s of each pair, shape (P,), not negative.
            carried: Mbit/s of more important traffic that each link already carries, shape (L,).

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
        """Return the capacity of each link that the program may use."""
        left = capacity - carried
        return np.where(left > _DUST * capacity, left, 0.0)

    def number(self, name: str) -> float:
        """Return the value of a setting that is a number."""
        return float(self.options.settings.get(name, self.settings[name].default))

    def word(self, name: str) -> str:
        """Return the value of a setting that is a word."""
        return str(self.options.settings.get(name, self.settings[name].default))

    def _compile(self, scale: Scale) -> None:  # noqa: B027  # a program may have nothing to compile
        """Make the CVXPY problems, with capacities and demands as parameters; by default there are none."""

    @abstractmethod
    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        """Solve the compiled problems."""


@dataclass(frozen=True)
class Objective:
    """An objective that users choose by name.

    Attributes:
        name: the name in plans and on the command line.
        program: creates its program.
        value: computes a plan's value; None if only the program knows it, see `Allocation.value`.
        protects: True if its plans survive `Options.protect` failed edges without loss.
        takes_shares: True if its programs use the shares of the path choice.
        partitioning: how its programs are solved in parts; None for one program.
        settings: settings that users write after its name.
        compiled: True if CVXPY compiles its programs, which then take any solver and `Options.spread`.
        tunnels: finds the tunnels of the pairs of some demands in place of the path choice.
        carries_all: True if its plans carry all demand, and their value is the utilisation of the busiest link.
        paths: the only path choice that it has; None for all.
        share: words for the value in summaries, if it is a share.
    """

    name: str
    program: Callable[[Incidence, Options], Program]
    value: Callable[[Plan], float] | None
    protects: bool = False
    takes_shares: bool = False
    partitioning: Partitioning | None = None
    settings: Settings = field(default_factory=dict)
    compiled: bool = True
    tunnels: Callable[[Topology, Sequence[Demand], Options], Mapping[Pair, Paths]] | None = None
    carries_all: bool = False
    paths: str | None = None
    share: str = ""


def total(plan: Plan) -> float:
    """Return the Mbit/s that all pairs get."""
    return plan.allocated
