"""TCP over several full links: shares in inverse proportion to the round trips that these links' queues cause.

The model's max-min fairness gives flows with a common bottleneck the same rate. A flow that waits in two full queues
gets less than flows that wait in one, because it adds a segment to its window once for each round trip (Floyd,
Connections with Multiple Congested Gateways, Computer Communication Review 21(5), 1991). Where links have no delay of
their own and all full queues cause the same delay, the round trip is proportional to the number of full links on the
forward path and on that of the acknowledgements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.flow.model import FluidFlows, NoFixedPointError, Shares, Vector, share

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
