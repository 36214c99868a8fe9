"""Linear and mixed-integer programs put together from blocks of variables and rows, solved by HiGHS."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import highspy
import numpy as np
import scipy.sparse as sp

from kuijia_base.errors import SolverError
from te_solver.programs.highs import OPTIONS
from te_solver.programs.incidence import Incidence, Vector, scaled, within_bounds
from te_solver.programs.scale import Scale, could_carry
from te_solver.programs.solver import INTERIOR, Solver, interruptible

Method = Literal["simplex", "interior"]
"""`interior` is HiGHS's interior point method without crossover: for programs that simplex takes minutes for."""

_DUST = 1e-9
"""A rate below this share of what its tunnel could carry alone is the solver's rounding."""

_AGAIN: tuple[Mapping[str, object], ...] = ({"presolve": "off"}, {"presolve": "choose", "run_crossover": "on"})
"""Options to try in turn where HiGHS ends with status "unknown"."""

_METHODS: dict[Method, Mapping[str, object]] = {"simplex": {}, "interior": INTERIOR}


@dataclass(frozen=True)
class ProgramBlock:
    """Consecutive variables, or rows, of a program."""

    start: int
    size: int

    def of(self, values: Vector) -> Vector:
        """Return the block's part of the values of all."""
        return values[self.start : self.start + self.size]


Term = tuple[ProgramBlock, sp.csc_array]
"""A matrix, and the variables that it is multiplied by."""


@dataclass(frozen=True)
class LinearOptimum:
    """The values of all variables in an optimum, and the seconds spent in the solver.

    Attributes:
        values: of all variables.
        prices: rise of the minimum per unit of each row's bound.
        objective: the minimum.
        seconds: time in the solver.
    """

    values: Vector
    prices: Vector
    objective: float
    seconds: float


@dataclass
class Linear:
    """A program that minimises the cost of its variables, all from zero up to their caps, within its rows.

    Attributes:
        solver: HiGHS; its `watch` is called.
        method: see `Method`; a solver that names a method of HiGHS decides.
    """

    solver: Solver = field(default_factory=Solver)
    method: Method = "simplex"
    _cost: list[Vector] = field(default_factory=list, init=False)
    _caps: list[Vector] = field(default_factory=list, init=False)
    _whole: list[bool] = field(default_factory=list, init=False)
    _rows: list[tuple[Sequence[Term], Vector, Vector]] = field(default_factory=list, init=False)
    _width: int = field(default=0, init=False)
    _height: int = field(default=0, init=False)

    def variables(
        self, count: int, cost: float | Vector = 0.0, caps: float | Vector = np.inf, *, whole: bool = False
    ) -> ProgramBlock:
        """Add variables; with `whole` they are whole numbers."""
        block = ProgramBlock(self._width, count)
        self._cost.append(np.broadcast_to(np.asarray(cost, dtype=np.float64), count))
        self._caps.append(np.broadcast_to(np.asarray(caps, dtype=np.float64), count))
        self._whole += [whole] * count
        self._width += count
        return block

    def rows(self, *terms: Term, at_least: float | Vector = -np.inf, at_most: float | Vector = np.inf) -> ProgramBlock:
        """Add rows: the sum of the terms lies within the bounds."""
        height = terms[0][1].shape[0]
        lower = np.broadcast_to(np.asarray(at_least, dtype=np.float64), height)
        upper = np.broadcast_to(np.asarray(at_most, dtype=np.float64), height)
        self._rows.append((terms, lower, upper))
        block = ProgramBlock(self._height, height)
        self._height += height
        return block

    @property
    def height(self) -> int:
        """Number of rows."""
        return self._height

    def costs(self) -> Vector:
        """Return the cost of each variable."""
        return np.concatenate(self._cost)

    def price(self, block: ProgramBlock, cost: float | Vector, *, alone: bool = True) -> None:
        """Give variables another cost, and all others none if it is to be `alone`."""
        self._cost = [np.zeros(self._width) if alone else self.costs()]
        block.of(self._cost[0])[:] = cost

    def solve(self) -> LinearOptimum:
        """Return an optimum.

        Raises:
            SolverError: HiGHS did not reach one.
        """
        highs = highspy.Highs()
        for option, value in {**OPTIONS, **_METHODS[self.method], **self.solver.of_highs}.items():
            highs.setOptionValue(option, value)
        highs.passModel(self._program())
        started = time.perf_counter()
        interruptible(highs.run, self.solver.watch)
        # Undoing presolve can spoil duals without a basis (HiGHS's issue 2306); a basis ends what no inner point does.
        for again in _AGAIN:
            if highs.getModelStatus() != highspy.HighsModelStatus.kUnknown:
                break
            highs.clearSolver()
            for option, value in again.items():
                highs.setOptionValue(option, value)
            interruptible(highs.run, self.solver.watch)
        seconds = time.perf_counter() - started
        status = highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverError(f"HiGHS gave up with status {highs.modelStatusToString(status)}, no plan was made")
        solution = highs.getSolution()
        prices = np.array(solution.row_dual) if solution.dual_valid else np.zeros(self._height)
        return LinearOptimum(
            np.array(solution.col_value), prices, float(highs.getInfo().objective_function_value), seconds
        )

    def _program(self) -> highspy.HighsLp:
        matrix = self._matrix()
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = self._width, self._height
        program.col_cost_ = self.costs()
        program.col_lower_, program.col_upper_ = np.zeros(self._width), np.concatenate(self._caps)
        program.row_lower_ = np.concatenate([lower for _, lower, _ in self._rows])
        program.row_upper_ = np.concatenate([upper for _, _, upper in self._rows])
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
        program.a_matrix_.value_ = matrix.data
        if any(self._whole):
            kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
            program.integrality_ = [kinds[whole] for whole in self._whole]
        return program

    def _matrix(self) -> sp.csc_array:
        rows, columns, entries = [], [], []
        start = 0
        for terms, lower, _ in self._rows:
            for block, matrix in terms:
                term = sp.coo_array(matrix)
                rows.append(term.row + start)
                columns.append(term.col + block.start)
                entries.append(term.data)
            start += lower.size
        where = np.concatenate(rows), np.concatenate(columns)
        return sp.csc_array((np.concatenate(entries), where), shape=(self._height, self._width))


def column(values: Vector) -> sp.csc_array:
    """Return a matrix of one column."""
    return sp.csc_array(values.reshape(-1, 1))


def row(values: Vector) -> sp.csc_array:
    """Return a matrix of one row."""
    return sp.csc_array(values.reshape(1, -1))


class TunnelShares:
    """The matrices of tunnels' rates in a program: a variable is the share of what its tunnel could carry alone.

    Attributes:
        scale: units of variables and rows.
        load: load of each link as a share of `scale.capacity`, shape (L, T).
        sent: rate of each pair's tunnels as a share of `scale.most`, shape (P, T).
        caps: the most that each variable can be, shape (T,).
        capacity: capacity of each link as a share of `scale.capacity`, shape (L,).
        demand: demand of each pair as a share of `scale.most`, shape (P,).
    """

    def __init__(self, incidence: Incidence, room: Vector, demand: Vector) -> None:
        self.incidence = incidence
        self.scale = scale = Scale.of(incidence, room, demand)
        self._room, self._demand = room, demand
        self.load = scaled(incidence.links, scale.alone, scale.capacity)
        self.sent = scaled(incidence.pairs, scale.alone, scale.most)
        self.caps = could_carry(incidence, room, demand) / scale.alone
        self.capacity = room / scale.capacity
        self.demand = demand / scale.most

    @property
    def worth(self) -> Vector:
        """Mbit/s that each variable stands for, in `scale.unit`, shape (T,)."""
        return self.scale.alone / self.scale.unit

    def rates(self, shares: Vector) -> Vector:
        """Return the Mbit/s of each tunnel, within capacities and demands."""
        rates = self.scale.alone * np.where(shares < _DUST, 0.0, shares)
        return within_bounds(self.incidence, self._room, self._demand, rates)
