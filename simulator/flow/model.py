"""The fluid model: goodput of the flows that are offered to a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kuijia_base.errors import KuijiaError
from simulator.flow import _core

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]


class NoFixedPointError(KuijiaError):
    """Raised when losses of inelastic flows that depend on each other in a cycle do not settle."""


@dataclass(frozen=True, eq=False)
class FluidFlows:
    """F flows, each with a path of its own.

    Attributes:
        first: where in `links` each flow's path begins, and where the last one ends, shape (F + 1,).
        links: the links of one path after the other, from ingress to egress; no path crosses a link twice.
        offered: Mbit/s that each flow sends, shape (F,); infinite for an elastic flow that takes all it can get.
        level: the strict-priority level of each flow's queue, lower ones served first, shape (F,).
        elastic: True for a flow that adapts to its share, like TCP; False for one that loses its excess, like UDP,
            shape (F,).
        weight: an elastic flow's weight at a bottleneck, such as the number of TCP connections that it stands for,
            shape (F,).
    """

    first: NDArray[np.int64]
    links: NDArray[np.int32]
    offered: Vector
    level: NDArray[np.int32]
    elastic: Flags
    weight: Vector

    @classmethod
    def of(
        cls,
        paths: Sequence[Sequence[int]],
        offered: ArrayLike,
        *,
        level: ArrayLike = 0,
        elastic: ArrayLike = True,
        weight: ArrayLike = 1.0,
    ) -> FluidFlows:
        """Return flows over these paths of link positions; a single value applies to all flows."""
        size = len(paths)
        return cls(
            np.cumsum([0, *map(len, paths)], dtype=np.int64),
            np.fromiter((link for path in paths for link in path), np.int32),
            np.broadcast_to(np.asarray(offered, np.float64), size),
            np.broadcast_to(np.asarray(level, np.int32), size),
            np.broadcast_to(np.asarray(elastic, np.bool_), size),
            np.broadcast_to(np.asarray(weight, np.float64), size),
        )

    @property
    def size(self) -> int:
        return int(self.offered.size)

    def path(self, flow: int) -> NDArray[np.int32]:
        """Return the links that a flow crosses, in order."""
        return self.links[self.first[flow] : self.first[flow + 1]]

    def offering(self, offered: Vector) -> FluidFlows:
        """Return the same flows at other rates."""
        return replace(self, offered=offered)


@dataclass(frozen=True, eq=False)
class Shares:
    """The outcome of F flows on L links.

    Attributes:
        goodput: Mbit/s of each flow that arrive, shape (F,).
        load: Mbit/s that each link carries, shape (L,).
        dropped: Mbit/s of inelastic flows that each link drops, shape (L,); elastic flows send no more than arrives.
    """

    goodput: Vector
    load: Vector
    dropped: Vector


def share(capacity: ArrayLike, flows: FluidFlows) -> Shares:
    """Share links of these capacities, in Mbit/s, shape (L,), among flows; a failed link has a capacity of zero.

    Levels are served in order, each from what the earlier ones leave. Within a level inelastic flows come first: a link
    that they overload drops the same share of each, and only the rest goes on. Elastic flows share the remaining
    capacity by weighted max-min fairness; none gets more than it offers.

    Raises:
        ValueError: arrays do not fit together or hold impossible values; the message names them.
        NoFixedPointError: the losses of inelastic flows do not settle.
    """
    goodput, load, dropped, settled = _core.share(
        np.asarray(capacity, np.float64),
        flows.first,
        flows.links,
        flows.offered,
        flows.weight,
        flows.level,
        flows.elastic.view(np.uint8),
    )
    if not settled:
        raise NoFixedPointError("the losses of inelastic flows on links that feed each other in a cycle do not settle")
    return Shares(goodput, load, dropped)
