"""Reference implementation of the model, slow and obvious: tests and benchmarks compare the compiled core with it."""

from __future__ import annotations

import numpy as np

from simulator.flow.model import FluidFlows, NoFixedPointError, Shares, Vector

_MOST_ROUNDS = 200_000


def share(capacity: Vector, flows: FluidFlows) -> Shares:
    """Return what `simulator.flow.model.share` returns, for valid arguments."""
    left = np.array(capacity, dtype=np.float64)
    goodput = np.zeros(flows.size)
    dropped = np.zeros(left.size)
    for level in sorted(set(flows.level.tolist())):
        of_level = [flow for flow in range(flows.size) if flows.level[flow] == level]
        inelastic = [flow for flow in of_level if not flows.elastic[flow]]
        elastic = [flow for flow in of_level if flows.elastic[flow]]
        arriving = _thin(flows, inelastic, left, goodput)
        dropped += np.maximum(0.0, arriving - left)
        left = np.maximum(0.0, left - arriving)
        _fill(flows, elastic, left, goodput)
        for flow in elastic:
            left[flows.path(flow)] -= goodput[flow]
        left = np.maximum(0.0, left)
    return Shares(goodput, capacity - left, dropped)


def _thin(flows: FluidFlows, members: list[int], left: Vector, goodput: Vector) -> Vector:
    """Set the goodput of inelastic flows; return what arrives at each link, shape (L,).

    All links start by passing everything. In each round all flows walk their paths, and every link moves half way
    towards the share of its arrivals that it can pass, until nothing changes any more.
    """
    passed = np.ones(left.size)
    for _ in range(_MOST_ROUNDS):
        arriving = np.zeros(left.size)
        for flow in members:
            rate = flows.offered[flow]
            for link in flows.path(flow):
                arriving[link] += rate
                rate *= passed[link]
            goodput[flow] = rate
        target = np.divide(left, arriving, out=np.ones(left.size), where=arriving > left)
        if np.abs(target - passed).max(initial=0.0) <= 1e-15:
            return arriving
        passed += (target - passed) / 2
    raise NoFixedPointError("the losses of inelastic flows do not settle")


def _fill(flows: FluidFlows, members: list[int], left: Vector, goodput: Vector) -> None:
    """Set the goodput of elastic flows: all rise together, each until it has its offer or one of its links is full."""
    crossings: dict[int, list[int]] = {}
    for flow in members:
        for link in flows.path(flow).tolist():
            crossings.setdefault(link, []).append(flow)
    rising = set(members)
    while rising:
        stops = {flow: flows.offered[flow] / flows.weight[flow] for flow in rising}
        for link, crossing in crossings.items():
            if rising.isdisjoint(crossing):
                continue
            taken = sum(goodput[flow] for flow in crossing if flow not in rising)
            weight = sum(flows.weight[flow] for flow in crossing if flow in rising)
            for flow in crossing:
                if flow in rising:
                    stops[flow] = min(stops[flow], max(0.0, left[link] - taken) / weight)
        level = min(stops.values())
        for flow in [flow for flow in rising if stops[flow] == level]:
            goodput[flow] = min(flows.offered[flow], level * flows.weight[flow])
            rising.remove(flow)
