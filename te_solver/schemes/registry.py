"""The schemes by name, as users ask for them."""

from __future__ import annotations

from collections.abc import Callable

from te_solver.errors import InputError
from te_solver.programs.max_throughput import maximise_throughput
from te_solver.schemes.ffc import ForwardFaultCorrection
from te_solver.schemes.interface import RateSolver, Scheme
from te_solver.schemes.kuijia import Kuijia
from te_solver.schemes.precomputed import Precomputed
from te_solver.schemes.recompute import Recompute
from te_solver.schemes.rescaling import RenormalisedRescaling, Rescaling

_MAKERS: dict[str, Callable[[RateSolver], Scheme]] = {
    Kuijia.name: lambda _: Kuijia(),
    Rescaling.name: lambda _: Rescaling(),
    RenormalisedRescaling.name: lambda _: RenormalisedRescaling(),
    Precomputed.name: Precomputed,
    ForwardFaultCorrection.name: lambda _: ForwardFaultCorrection(),
    Recompute.name: Recompute,
}


def scheme_names() -> tuple[str, ...]:
    return tuple(_MAKERS)


def make_scheme(name: str, solver: RateSolver = maximise_throughput) -> Scheme:
    """The scheme of this name with its default options; those that solve programs use `solver`.

    Raises:
        InputError: there is none.
    """
    if name not in _MAKERS:
        raise InputError("scheme", name, "is unknown", f"one of {', '.join(_MAKERS)}")
    return _MAKERS[name](solver)
