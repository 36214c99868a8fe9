"""Linear programs inside HiGHS, by its own interface: they stay there, grow, and are solved again for other bounds."""

from __future__ import annotations

from importlib.metadata import version

import highspy
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from te_solver.errors import SolverError

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]

Basis = highspy.HighsBasis
"""A place in a program: which columns and rows are at which bound, and which are not."""

TITLE = f"HiGHS {version('highspy')}"

OPTIONS = {"output_flag": False, "solver": "simplex", "threads": 1, "random_seed": 0}
"""One thread of simplex: a vertex of the optimal set, and the same one every time."""

_DEVEX = 1
_DUAL_SIMPLEX = 1
_PRIMAL_SIMPLEX = 4
"""HiGHS's numbers for its methods."""

_SMALL = 1000
"""Up to so many columns, the few pivots that steepest edge saves take less time than setting its weights up."""


class HighsProgram:
    """The least `cost @ x` with rows `lower <= matrix @ x <= upper` and columns `0 <= x <= cap`.

    Bounds are set before the first solution; until then rows are free and columns not capped. HiGHS solves from the
    basis that it arrived at last, from another one when that is given to it, and the first time from none.

    Args:
        matrix: rows and columns to begin with.
        cost: of each column.
        tolerance: how far a bound may be exceeded, and a reduced cost be on the wrong side of zero.

    Attributes:
        first_basis: where the first solution was; None before.
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
        """Add rows over the columns that there are."""
        free = np.full(upper.size, -np.inf)
        starts, entries = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
        self._highs.addRows(upper.size, free, upper, entries.size, starts, entries, rows.data)

    def add_columns(self, columns: sp.csc_array, cost: Vector, caps: Vector) -> None:
        """Add columns over the rows that there are."""
        starts, entries = columns.indptr[:-1].astype(np.int32), columns.indices.astype(np.int32)
        self._highs.addCols(cost.size, cost, np.zeros(cost.size), caps, entries.size, starts, entries, columns.data)

    @property
    def basis(self) -> Basis:
        """Where the last solution was."""
        basis: Basis = self._highs.getBasis()
        return basis

    def basis_with_row(self) -> Basis:
        """The same place in the program that has one row more, which is not at a bound there."""
        basis, wider = self.basis, Basis()
        wider.col_status = basis.col_status
        wider.row_status = [*basis.row_status, highspy.HighsBasisStatus.kBasic]
        wider.valid = True
        return wider

    def solve(self, start: Basis | None = None, *, primal: bool = False) -> Vector:
        """The best value of each column.

        Args:
            start: the basis to start from, as if nothing had been solved before.
            primal: whether what it starts from is better than feasible in the rows and columns, as after columns were
                added, than in their costs, as after bounds were changed.

        Raises:
            SolverError: HiGHS did not reach an optimum.
        """
        if start is not None:
            self._highs.clearSolver()
            self._highs.setBasis(start)
        self._highs.setOptionValue("simplex_strategy", _PRIMAL_SIMPLEX if primal else _DUAL_SIMPLEX)
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            # Where rounding leads astray on the way from a basis, the way from none may be clear.
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
        """How much the least cost would fall if the upper bound of a row rose by one, for each row."""
        return -np.array(self._highs.getSolution().row_dual)
