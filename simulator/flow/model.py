"""The model's one question: what of the flows that a network is offered gets through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.flow import _core
from te_solver.errors import KuijiaError

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]


class NoFixedPointError(KuijiaError):
    """Losses of inelastic flows that depend on each other in circles were not found to settle."""


@dataclass(frozen=True, eq=False)
class Flows:
    """F flows, each with a path of its own.

    Attributes:
        first: where in `links` each flow's path begins, and where the last one ends, shape (F + 1,).
        links: the links of one path after the other, from ingress to egress; no path crosses a link twice.
        offered: Mbit/s that each flow is sent with, shape (F,); infinite for an elastic flow without an end.
        level: the place of each flow's queue in strict priority, lower ones served first, shape (F,).
        elastic: whether a flow adapts to what it gets, as TCP does, or loses what does not fit, as UDP, shape (F,).
        weight: how much of a bottleneck an elastic flow takes beside others, such as the number of TCP connections
            that it stands for, shape (F,).
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
    ) -> Flows:
        """Flows over these paths, given as positions of links; what is one value is so for all of them."""
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
        """The links that a flow crosses, in order."""
        return self.links[self.first[flow] : self.first[flow + 1]]

    def offering(self, offered: Vector) -> Flows:
        """The same flows at other rates."""
        return replace(self, offered=offered)


@dataclass(frozen=True, eq=False)
class Shares:
    """What becomes of F flows on L links.

    Attributes:
        goodput: Mbit/s of each flow that arrive, shape (F,).
        load: Mbit/s that each link carries, shape (L,).
        dropped: Mbit/s of inelastic flows that each link drops, shape (L,); elastic flows send no more than arrives.
    """

    goodput: Vector
    load: Vector
    dropped: Vector


def share(capacity: ArrayLike, flows: Flows) -> Shares:
    """Who gets what of links of these capacities, in Mbit/s, shape (L,); a failed link has a capacity of zero.

    Levels are served in order, each from what those before leave. Within a level inelastic flows come first: a link
    that they overload takes the same share off each of them, and only what is left of them goes on. Elastic flows
    share the rest by weighted max-min fairness, none getting more than it offers.

    Raises:
        ValueError: arrays do not fit together or hold impossible values; the message says which.
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
        raise NoFixedPointError("the losses of inelastic flows on links that feed each other in a circle do not settle")
    return Shares(goodput, load, dropped)
