"""Conventional rescaling: victims move to the alive tunnels and are served as all other traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from te_solver.schemes.failure_scheme import FailureScheme

if TYPE_CHECKING:
    from te_solver.schemes.models.interface import RateSolver, Scheme, SchemeOptions


class RescalingScheme(FailureScheme):
    """Rescaling with the failed tunnels' hash ranges cut in advance."""

    name = "rescaling"
    order = 20
    on_switches = True

    def model(self, solver: RateSolver, options: SchemeOptions) -> Scheme:
        # The model takes a second to import, which switches do not need.
        from te_solver.schemes.models.rescaling import Rescaling  # noqa: PLC0415  # slow to import: NumPy

        del solver
        return Rescaling(options.split)


RESCALING = RescalingScheme()
