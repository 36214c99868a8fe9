"""The fluid model: goodput of the flows offered to a network, and of those that share by round-trip times."""

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


_FIRST_LOOK, _MOST_ROUNDS = 50, 6400
_SETTLED = 1e-2
"""Shares have settled when twice the rounds change none by more than this part of the largest link."""

_FULL = 1 - 1e-3
"""Load, as a share of a link's capacity, from which its queue counts as full."""


def share_by_round_trips(capacity: ArrayLike, flows: FluidFlows, back: Sequence[Sequence[int]] | None = None) -> Shares:
    """Return `share` of the flows weighted by `weighed_by_round_trips`; takes and raises what that does."""
    return share(capacity, weighed_by_round_trips(capacity, flows, back))


def weighed_by_round_trips(
    capacity: ArrayLike, flows: FluidFlows, back: Sequence[Sequence[int]] | None = None
) -> FluidFlows:
    """Return the flows with weights divided by the number of full links that flow and acknowledgements cross.

    A link is full for a flow when flows served no later than this one fill it. The full links depend on the shares, and
    the shares on the weights. As one flow's weight may decide if a link is just full, the weights are the mean of what
    the shares of earlier rounds ask for. Rounds are doubled, from 50, until that changes no share by more than 1 % of
    the largest link.

    Args:
        capacity: Mbit/s of each link, shape (L,).
        flows: the flows and their offers.
        back: the links that the acknowledgements of each flow cross, in its queues; None if they meet no full link.
            Acknowledgements themselves fill no link.

    Raises:
        ValueError: as `share` does.
        NoFixedPointError: as `share` does, or if shares have not settled after thousands of rounds.
    """
    limits = np.asarray(capacity, np.float64)
    way_back = None if back is None else FluidFlows.of(back, 0.0, level=flows.level)
    weight = flows.weight
    seen: Vector | None = None
    look = _FIRST_LOOK
    for rounds in range(1, _MOST_ROUNDS + 1):
        shares = share(limits, replace(flows, weight=weight))
        queues = _full_links(limits, flows, shares, flows)
        if way_back is not None:
            queues = queues + _full_links(limits, flows, shares, way_back)
        asked = flows.weight / np.maximum(queues, 1)
        if np.array_equal(asked, weight):
            break
        weight = weight + (asked - weight) / rounds
        if rounds == look:
            if seen is not None and (np.abs(shares.goodput - seen) <= _SETTLED * limits.max(initial=0.0)).all():
                break
            seen, look = shares.goodput, 2 * look
    else:
        raise NoFixedPointError("the shares of TCP flows over several full links do not settle")
    return replace(flows, weight=weight)


def _full_links(capacity: Vector, flows: FluidFlows, shares: Shares, ways: FluidFlows) -> NDArray[np.int64]:
    """Return the number of links filled by `flows` that each of the `ways` crosses, shape (F,)."""
    flow, way = (np.repeat(np.arange(each.size), np.diff(each.first)) for each in (flows, ways))
    crossed = np.zeros(flows.size, np.int64)
    for level in np.unique(flows.level):
        served = flows.level[flow] <= level
        load = np.bincount(flows.links[served], shares.goodput[flow[served]], minlength=capacity.size)
        full = load >= _FULL * capacity
        own = ways.level[way] == level
        crossed += np.bincount(way[own], full[ways.links[own]], minlength=flows.size).astype(np.int64)
    return crossed
