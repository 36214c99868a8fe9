"""Global first fit: a flow takes the first path that has room for it, and stays there."""

from __future__ import annotations

import numpy as np

from hedera import _core
from hedera.network.fabric import Fabric, Ints, Vector
from hedera.placement.interface import Elephants, Placement, amounts, without_dead_paths


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
