"""Recompute: a new plan for the remaining network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from te_solver.schemes.failure_scheme import FailureScheme

if TYPE_CHECKING:
    from te_solver.schemes.models.interface import RateSolver, Scheme, SchemeOptions


class RecomputeScheme(FailureScheme):
    """A controller that solves the whole problem again after each failure."""

    name = "recompute"
    order = 60

    def model(self, solver: RateSolver, options: SchemeOptions) -> Scheme:
        # The model takes a second to import, which switches do not need.
        from te_solver.schemes.models.recompute import Recompute  # noqa: PLC0415  # slow to import: CVXPY

        return Recompute(solver, options.new_tunnels)


RECOMPUTE = RecomputeScheme()
