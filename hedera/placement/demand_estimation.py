"""Estimation of flows' demands: their rates if only hosts' interfaces limited them, not their present paths."""

from __future__ import annotations

from dataclasses import dataclass

from hedera import _core
from hedera.network.fabric import Ints, Vector

MOST_ROUNDS = 1000
"""Limit of rounds; flows settle in as many rounds as bottlenecks depend on each other in a chain, which are few."""


@dataclass(frozen=True, eq=False)
class DemandEstimate:
    """The estimated demands of F flows.

    Attributes:
        demand: Mbit/s, shape (F,).
        rounds: number of rounds of senders and receivers, including the last one, which changed nothing.
        settled: True if there was such a last round.
    """

    demand: Vector
    rounds: int
    settled: bool


def estimate_demands(hosts: int, source: Ints, target: Ints, nic_rate: float) -> DemandEstimate:
    """Return the demands of endless flows between hosts 0 to `hosts` - 1; arrays have the shape (F,).

    Senders share their interface equally among flows that no receiver limits yet. Receivers that are offered more than
    their interface takes limit the flows that ask for more than an equal share. This repeats until nothing changes
    (Hedera, section 4.1). Several flows between two hosts count separately, as TCP shares an interface among them.

    Raises:
        ValueError: a host does not exist, or arrays have different lengths.
    """
    return DemandEstimate(*_core.estimate(hosts, source, target, nic_rate, MOST_ROUNDS))
