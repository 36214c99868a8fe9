"""The scheme `drop-victims`: what a failed tunnel carried stays at the ingress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kuijia.te_solver.schemes.failure_scheme import FailureScheme

if TYPE_CHECKING:
    from kuijia.te_solver.schemes.models.interface import RateSolver, Scheme, SchemeOptions


class DropVictimsScheme(FailureScheme):
    """Nothing moves; traffic of failed tunnels is not let in."""

    name = "drop-victims"

    def model(self, solver: RateSolver, options: SchemeOptions) -> Scheme:
        # The model imports NumPy, which a command line that only lists schemes does not need.
        from .drop_victims import DropVictims  # noqa: PLC0415  # slow to import: NumPy

        del solver, options
        return DropVictims()


DROP_VICTIMS = DropVictimsScheme()
