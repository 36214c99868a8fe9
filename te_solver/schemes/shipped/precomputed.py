"""Weights that were computed in advance for every failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from te_solver.schemes.failure_scheme import FailureScheme

if TYPE_CHECKING:
    from te_solver.schemes.models.interface import RateSolver, Scheme, SchemeOptions


class PrecomputedScheme(FailureScheme):
    """Kuijia, section 4.2, Figure 4."""

    name = "precomputed"
    order = 40

    def model(self, solver: RateSolver, options: SchemeOptions) -> Scheme:
        # The model takes a second to import, which switches do not need.
        from te_solver.schemes.models.precomputed import Precomputed  # noqa: PLC0415  # slow to import: CVXPY

        del options
        return Precomputed(solver)


PRECOMPUTED = PrecomputedScheme()
