"""Rescaling by hash ranges that grow over all values, so that other flows may change tunnel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from te_solver.schemes.failure_scheme import FailureScheme

if TYPE_CHECKING:
    from te_solver.schemes.models.interface import RateSolver, Scheme, SchemeOptions


class RenormalisedScheme(FailureScheme):
    """Rescaling as Kuijia, section 4.1, describes it.

    On switches, groups that were cut in advance lead past a dead tunnel until the controller removes its slots.
    """

    name = "rescaling-renormalised"
    order = 30
    on_switches = True
    renormalises = True

    def model(self, solver: RateSolver, options: SchemeOptions) -> Scheme:
        # The model takes a second to import, which switches do not need.
        from te_solver.schemes.models.rescaling import RenormalisedRescaling  # noqa: PLC0415  # slow to import: NumPy

        del solver, options
        return RenormalisedRescaling()


RENORMALISED = RenormalisedScheme()
