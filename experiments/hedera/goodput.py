"""What TCP flows get on given paths: max-min fairness, less what TCP's saw-tooth leaves unused of a link."""

from __future__ import annotations

import numpy as np

from hedera.fabric import Fabric, Paths, Vector
from simulator.flow.model import Flows, share

_SLOPE, _OFFSET = 3.2, 1.41
"""Fitted to the authors' simulator, where the network does not block: flows alone on a host's cable get .7833 of it,
two .8715, three .910 (from the sums over rand0, rand1 and rand2)."""


def utilisation(flows: Vector) -> Vector:
    """The part of a link that so many TCP flows together use.

    A flow alone halves its rate whenever it has filled the link. Of several only one does, so that less is left
    unused: 1 - 1 / (4 n) in the textbook, 1 - 1 / (3.2 n + 1.41) in the authors' simulator.
    """
    return 1 - 1 / (_SLOPE * flows + _OFFSET)


def tcp_goodput(capacity: Vector, paths: Paths, offered: Vector | float = np.inf) -> Vector:
    """Mbit/s of each flow, which would send `offered` if it could."""
    count = paths.first.size - 1
    crossing = np.bincount(paths.links, minlength=capacity.size)
    usable = np.where(crossing > 0, utilisation(crossing.astype(np.float64)), 1.0) * capacity
    flows = Flows(
        paths.first,
        paths.links,
        np.broadcast_to(np.asarray(offered, np.float64), count),
        np.zeros(count, np.int32),
        np.ones(count, np.bool_),
        np.ones(count),
    )
    return share(usable, flows).goodput


def non_blocking(fabric: Fabric) -> Vector:
    """Capacities of the same network if nothing but hosts' cables held flows back, as with one large switch."""
    return np.where(fabric.inner, fabric.hosts * fabric.nic_rate, fabric.capacity)
