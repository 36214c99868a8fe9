"""Rate rescaling (Kuijia): victims move to the alive tunnels and wait below all other traffic of their class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from te_solver.schemes.failure_scheme import VICTIM, FailureScheme

if TYPE_CHECKING:
    from te_solver.schemes.models.interface import RateSolver, Scheme, SchemeOptions


class KuijiaScheme(FailureScheme):
    """Zhang et al., Kuijia, section 4.2; with several classes of traffic section 4.3."""

    name = "kuijia"
    order = 10
    on_switches = True
    demoted = frozenset({VICTIM})

    def model(self, solver: RateSolver, options: SchemeOptions) -> Scheme:
        # The model takes a second to import, which switches do not need.
        from te_solver.schemes.models.rescaling import Kuijia  # noqa: PLC0415  # slow to import: NumPy

        del solver
        return Kuijia(options.split)


KUIJIA = KuijiaScheme()
