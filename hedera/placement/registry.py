"""The placements by name, as users select them; ECMP and global first fit, which need no search."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hedera import _core
from hedera.network.fabric import HASHED, Fabric, Ints, Vector
from hedera.placement.interface import Elephants, Placement, amounts, without_dead_paths
from hedera.placement.simulated_annealing import Annealing, AnnealingPerHost, SimulatedAnnealing
from kuijia_base.errors import InputError

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class EcmpPlacement(Placement):
    """Placement that leaves all flows to the hash."""

    name = "ecmp"

    def place(self, fabric: Fabric, flows: Elephants, capacity: Vector) -> Ints:  # noqa: ARG002
        return np.full(flows.size, HASHED, np.int32)


def hashed_labels(fabric: Fabric, keys: NDArray[np.uint64], seed: int) -> Ints:
    """Return the labels that a hash gives to flows; `keys` stand for headers, `seed` for the switches' hash function.

    It is SplitMix64's mixing function: every output bit depends on every bit of the key.
    """
    with np.errstate(over="ignore"):
        word = keys + np.uint64(seed + 1) * _GOLDEN
        word = (word ^ (word >> np.uint64(30))) * _MULTIPLIERS[0]
        word = (word ^ (word >> np.uint64(27))) * _MULTIPLIERS[1]
        word ^= word >> np.uint64(31)
    labels: Ints = ((word >> np.uint64(32)) * np.uint64(fabric.labels) >> np.uint64(32)).astype(np.int32)
    return labels


class GlobalFirstFit(Placement):
    """Placement in which flows choose in order of priority, then of position.

    Room is measured in demands. A flow that has a path keeps it while the path lives; one that fits nowhere is left to
    the hash and tried again in the next round. The load of hosts' own cables is the same on all paths and is ignored. A
    link may be filled to the last bit: with the "<" of other descriptions a flow at the full rate of an interface would
    fit nowhere.
    """

    name = "global-first-fit"

    def place(self, fabric: Fabric, flows: Elephants, capacity: Vector) -> Ints:
        living = without_dead_paths(fabric, flows, flows.choice, capacity)
        order = np.argsort(flows.priority, kind="stable")
        ordered = flows.some(order)
        routes = fabric.routes(ordered.source, ordered.target)
        choice = np.empty(flows.size, np.int32)
        choice[order] = _core.first_fit(
            routes, amounts(ordered.demand, fabric), amounts(capacity, fabric), living[order]
        )
        return without_dead_paths(fabric, flows, choice, capacity)


def _optimum() -> Placement:
    # The optimiser takes seconds to import; other placements should not wait for it.
    from hedera.placement.optimum import Optimum  # noqa: PLC0415  # slow to import: CVXPY

    return Optimum()


_MAKERS: dict[str, Callable[[int], Placement]] = {
    EcmpPlacement.name: lambda _: EcmpPlacement(),
    GlobalFirstFit.name: lambda _: GlobalFirstFit(),
    SimulatedAnnealing.name: lambda seed: SimulatedAnnealing(Annealing(seed=seed)),
    AnnealingPerHost.name: lambda seed: AnnealingPerHost(Annealing(seed=seed)),
    "optimum": lambda _: _optimum(),
}


def placement_names() -> tuple[str, ...]:
    return tuple(_MAKERS)


def make_placement(name: str, seed: int = 1) -> Placement:
    """Return a new placement of this name whose search, if it has one, draws by `seed`.

    Raises:
        InputError: the name is unknown.
    """
    if name not in _MAKERS:
        raise InputError("placement", name, "is unknown", f"one of {', '.join(_MAKERS)}")
    return _MAKERS[name](seed)
