"""The schemes by name, as users select them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from te_solver.errors import InputError
from te_solver.programs.max_throughput import maximise_throughput
from te_solver.schemes.ffc import ForwardFaultCorrection
from te_solver.schemes.interface import RateSolver, Scheme
from te_solver.schemes.kuijia import Kuijia
from te_solver.schemes.precomputed import Precomputed
from te_solver.schemes.recompute import Recompute
from te_solver.schemes.rescaling import RenormalisedRescaling, Rescaling
from te_solver.schemes.splits import Split, failover_order, proportional


@dataclass(frozen=True)
class SchemeOptions:
    """Options of the schemes that support them.

    Attributes:
        split: the division of victims by `kuijia` and `rescaling`.
        new_tunnels: True if `recompute` replaces failed tunnels by new ones.
    """

    split: Split = proportional
    new_tunnels: bool = False


_MAKERS: dict[str, Callable[[RateSolver, SchemeOptions], Scheme]] = {
    Kuijia.name: lambda _, options: Kuijia(options.split),
    Rescaling.name: lambda _, options: Rescaling(options.split),
    RenormalisedRescaling.name: lambda *_: RenormalisedRescaling(),
    Precomputed.name: lambda solver, _: Precomputed(solver),
    ForwardFaultCorrection.name: lambda *_: ForwardFaultCorrection(),
    Recompute.name: lambda solver, options: Recompute(solver, options.new_tunnels),
}

SPLITS: dict[str, Split] = {"proportional": proportional, "failover-order": failover_order}
"""Divisions of victims by name."""


def scheme_names() -> tuple[str, ...]:
    return tuple(_MAKERS)


def make_scheme(name: str, solver: RateSolver = maximise_throughput, options: SchemeOptions | None = None) -> Scheme:
    """Return the scheme of this name; schemes that solve programs use `solver`, others ignore it.

    Raises:
        InputError: the name is unknown.
    """
    if name not in _MAKERS:
        raise InputError("scheme", name, "is unknown", f"one of {', '.join(_MAKERS)}")
    return _MAKERS[name](solver, options or SchemeOptions())
