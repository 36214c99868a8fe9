"""Demand estimation as in the paper: every sender, then every receiver, until nothing changes."""

from __future__ import annotations

import numpy as np

from hedera.network.fabric import Ints
from hedera.placement.demand_estimation import MOST_ROUNDS, DemandEstimate

_SAME = 1e-9
"""Two shares that differ by less are equal up to rounding."""


def estimate_demands(hosts: int, source: Ints, target: Ints, nic_rate: float) -> DemandEstimate:
    """Return what `hedera.placement.demand_estimation.estimate_demands` returns, for valid arguments."""
    demand = [0.0] * source.size
    converged = [False] * source.size
    outgoing: list[list[int]] = [[] for _ in range(hosts)]
    incoming: list[list[int]] = [[] for _ in range(hosts)]
    for flow, (a, b) in enumerate(zip(source.tolist(), target.tolist(), strict=True)):
        outgoing[a].append(flow)
        incoming[b].append(flow)
    for number in range(1, MOST_ROUNDS + 1):
        before = [*demand], [*converged]
        for host in range(hosts):
            _send(outgoing[host], demand, converged)
        for host in range(hosts):
            _receive(incoming[host], demand, converged)
        moved = max((abs(now - was) for now, was in zip(demand, before[0], strict=True)), default=0.0)
        if moved <= _SAME and converged == before[1]:
            return DemandEstimate(np.array(demand) * nic_rate, number, settled=True)
    return DemandEstimate(np.array(demand) * nic_rate, MOST_ROUNDS, settled=False)


def _send(flows: list[int], demand: list[float], converged: list[bool]) -> None:
    rising = [flow for flow in flows if not converged[flow]]
    fixed = sum(demand[flow] for flow in flows if converged[flow])
    for flow in rising:
        demand[flow] = max(0.0, 1 - fixed) / len(rising)


def _receive(flows: list[int], demand: list[float], converged: list[bool]) -> None:
    if sum(demand[flow] for flow in flows) <= 1 + _SAME:
        return
    limited = flows
    share = 1 / len(flows)
    while any(demand[flow] < share - _SAME for flow in limited):
        limited = [flow for flow in limited if demand[flow] >= share - _SAME]
        share = (1 - sum(demand[flow] for flow in flows if flow not in limited)) / len(limited)
    for flow in limited:
        demand[flow] = share
        converged[flow] = True
