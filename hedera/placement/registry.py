"""The placements by name, as users select them."""

from __future__ import annotations

from collections.abc import Callable

from hedera.placement.ecmp import EcmpPlacement
from hedera.placement.global_first_fit import GlobalFirstFit
from hedera.placement.interface import Placement
from hedera.placement.simulated_annealing import AnnealingPerHost, SimulatedAnnealing
from kuijia_base.errors import InputError


def _optimum() -> Placement:
    # The optimiser takes seconds to import; other placements should not wait for it.
    from hedera.placement.optimum import Optimum  # noqa: PLC0415  # slow to import: CVXPY

    return Optimum()


_MAKERS: dict[str, Callable[[], Placement]] = {
    EcmpPlacement.name: EcmpPlacement,
    GlobalFirstFit.name: GlobalFirstFit,
    SimulatedAnnealing.name: SimulatedAnnealing,
    AnnealingPerHost.name: AnnealingPerHost,
    "optimum": _optimum,
}


def placement_names() -> tuple[str, ...]:
    return tuple(_MAKERS)


def make_placement(name: str) -> Placement:
    """Return a new placement of this name with its default options; raises InputError if the name is unknown."""
    if name not in _MAKERS:
        raise InputError("placement", name, "is unknown", f"one of {', '.join(_MAKERS)}")
    return _MAKERS[name]()
