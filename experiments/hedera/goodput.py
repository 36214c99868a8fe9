"""Goodput of TCP flows on given paths: max-min fairness, less the capacity that TCP's saw-tooth leaves unused."""

from __future__ import annotations

import numpy as np

from hedera.network.fabric import Fabric, Paths, Vector
from simulator.flow.model import Flows, share

_SLOPE, _OFFSET = 3.2, 1.41
"""Fitted to the authors' simulator without blocking: one flow on a host's cable gets .7833 of it, two .8715, three .910
(from the sums over rand0, rand1 and rand2)."""


def utilisation(flows: Vector) -> Vector:
    """Return the share of a link that this number of TCP flows uses together.

    A single flow halves its rate whenever it has filled the link. Of several flows only one does, so less stays unused:
    1 - 1 / (4 n) in the textbook, 1 - 1 / (3.2 n + 1.41) in the authors' simulator.
    """
    return 1 - 1 / (_SLOPE * flows + _OFFSET)


def tcp_goodput(capacity: Vector, paths: Paths, offered: Vector | float = np.inf) -> Vector:
    """Return the Mbit/s of each flow; `offered` is the rate that it could send."""
    crossing = np.bincount(paths.links, minlength=capacity.size)
    usable = np.where(crossing > 0, utilisation(crossing.astype(np.float64)), 1.0) * capacity
    return fair_rates(usable, paths, offered)


def fair_rates(capacity: Vector, paths: Paths, offered: Vector | float = np.inf) -> Vector:
    """Return the max-min fair Mbit/s of each flow, with links filled to their capacity."""
    count = paths.first.size - 1
    flows = Flows(
        paths.first,
        paths.links,
        np.broadcast_to(np.asarray(offered, np.float64), count),
        np.zeros(count, np.int32),
        np.ones(count, np.bool_),
        np.ones(count),
    )
    return share(capacity, flows).goodput


def non_blocking(fabric: Fabric) -> Vector:
    """Return the capacities of the same network if only hosts' cables limited flows, as with one large switch."""
    return np.where(fabric.inner, fabric.hosts * fabric.nic_rate, fabric.capacity)
