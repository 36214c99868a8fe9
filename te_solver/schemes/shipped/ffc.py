"""Forward fault correction: a plan that leaves room for failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from te_solver.schemes.failure_scheme import FailureScheme

if TYPE_CHECKING:
    from te_solver.schemes.models.interface import RateSolver, Scheme, SchemeOptions


class FfcScheme(FailureScheme):
    """Liu et al., Traffic Engineering with Forward Fault Correction."""

    name = "ffc"
    order = 50

    def model(self, solver: RateSolver, options: SchemeOptions) -> Scheme:
        # The model takes a second to import, which switches do not need.
        from te_solver.schemes.models.rescaling import FfcModel  # noqa: PLC0415  # slow to import: NumPy

        del solver, options
        return FfcModel()


FFC = FfcScheme()
