"""Linear programs kept in HiGHS by its own interface: they grow, and are solved again for other bounds."""

from __future__ import annotations

from importlib.metadata import version

import highspy
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kuijia_base.errors import SolverError

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]

Basis = highspy.HighsBasis
"""A basis of a program: the bound at which each column and row is, if any."""

TITLE = f"HiGHS {version('highspy')}"

OPTIONS = {"output_flag": False, "solver": "simplex", "threads": 1, "random_seed": 0}
"""Options of HiGHS; simplex in one thread returns the same optimal vertex every time."""

_DEVEX = 1
_DUAL_SIMPLEX = 1
_PRIMAL_SIMPLEX = 4
"""Numbers of HiGHS's methods."""

_SMALL = 1000
"""Most columns for which Devex pricing is faster: initialising steepest edge would cost more than it saves."""


class HighsProgram:
    """A program that minimises `cost @ x` with rows `lower <= matrix @ x <= upper` and columns `0 <= x <= cap`.

    Rows are free and columns not capped until bounds are set. HiGHS starts from the basis of its last solution, or from
    a given one; the first time it starts without a basis.

    Args:
        matrix: initial rows and columns.
        cost: cost of each column.
        tolerance: allowed violation of bounds and of the sign of reduced costs.

    Attributes:
        first_basis: the basis of the first solution; None before.
    """

    def __init__(self, matrix: sp.csc_array, cost: Vector, tolerance: float = 1e-7) -> None:
        height, width = matrix.shape
        self.first_basis: Basis | None = None
        self._highs = highspy.Highs()
        for option, value in OPTIONS.items():
            self._highs.setOptionValue(option, value)
        self._highs.setOptionValue("primal_feasibility_tolerance", tolerance)
        self._highs.setOptionValue("dual_feasibility_tolerance", tolerance)
        if width <= _SMALL:
            self._highs.setOptionValue("simplex_dual_edge_weight_strategy", _DEVEX)
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = width, height
        program.col_cost_, program.col_lower_, program.col_upper_ = cost, np.zeros(width), np.full(width, np.inf)
        program.row_lower_, program.row_upper_ = np.full(height, -np.inf), np.full(height, np.inf)
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
        program.a_matrix_.value_ = matrix.data
        self._highs.passModel(program)

    def bound_rows(self, lower: Vector, upper: Vector) -> None:
        """Set the bounds of all rows."""
        self._highs.changeRowsBounds(upper.size, np.arange(upper.size, dtype=np.int32), lower, upper)

    def cap_columns(self, columns: Indices, caps: Vector) -> None:
        """Set the upper bounds of some columns."""
        if columns.size:
            self._highs.changeColsBounds(columns.size, columns.astype(np.int32), np.zeros(columns.size), caps)

    def add_rows(self, rows: sp.csr_array, upper: Vector) -> None:
        """Add rows over the existing columns."""
        free = np.full(upper.size, -np.inf)
        starts, entries = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
        self._highs.addRows(upper.size, free, upper, entries.size, starts, entries, rows.data)

    def add_columns(self, columns: sp.csc_array, cost: Vector, caps: Vector) -> None:
        """Add columns over the existing rows."""
        starts, entries = columns.indptr[:-1].astype(np.int32), columns.indices.astype(np.int32)
        self._highs.addCols(cost.size, cost, np.zeros(cost.size), caps, entries.size, starts, entries, columns.data)

    @property
    def basis(self) -> Basis:
        """The basis of the last solution."""
        basis: Basis = self._highs.getBasis()
        return basis

    def basis_with_row(self) -> Basis:
        """Return the last basis extended by one more row, which is not at a bound."""
        basis, wider = self.basis, Basis()
        wider.col_status = basis.col_status
        wider.row_status = [*basis.row_status, highspy.HighsBasisStatus.kBasic]
        wider.valid = True
        return wider

    def solve(self, start: Basis | None = None, *, primal: bool = False) -> Vector:
        """Solve the program; return the optimal value of each column.

        Args:
            start: the basis to start from, as if nothing had been solved before.
            primal: True for the primal simplex method, best if the start is primal feasible, as after columns were
                added; False for the dual one, best if it is dual feasible, as after bounds were changed.

        Raises:
            SolverError: HiGHS did not reach an optimum.
        """
        if start is not None:
            self._highs.clearSolver()
            self._highs.setBasis(start)
        self._highs.setOptionValue("simplex_strategy", _PRIMAL_SIMPLEX if primal else _DUAL_SIMPLEX)
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            # Rounding may lead astray from a basis; a start without one may succeed.
            self._highs.clearSolver()
            self._highs.setOptionValue("simplex_strategy", _DUAL_SIMPLEX)
            self._highs.run()
        status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverError(f"HiGHS gave up with status {self._highs.modelStatusToString(status)}, no plan was made")
        self.first_basis = self.first_basis or self.basis
        return np.array(self._highs.getSolution().col_value)

    @property
    def prices(self) -> Vector:
        """Dual value (shadow price) of each row: the fall of the minimum cost per unit of its upper bound."""
        return -np.array(self._highs.getSolution().row_dual)
