"""The schemes by name, as users select them."""

from __future__ import annotations

from te_solver.programs.resolve import maximise_throughput
from te_solver.schemes.all_schemes import failure_scheme, scheme_names
from te_solver.schemes.models.interface import RateSolver, Scheme, SchemeOptions
from te_solver.schemes.models.rerouting import Split, failover_order, proportional

__all__ = ["SPLITS", "make_scheme", "scheme_names"]

SPLITS: dict[str, Split] = {"proportional": proportional, "failover-order": failover_order}
"""Divisions of victims by name."""


def make_scheme(name: str, solver: RateSolver = maximise_throughput, options: SchemeOptions | None = None) -> Scheme:
    """Return the model of the scheme of this name; schemes that solve programs use `solver`, others ignore it.

    Raises:
        InputError: the name is unknown.
    """
    return failure_scheme(name).model(solver, options or SchemeOptions())
