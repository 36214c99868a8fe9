"""Estimates what flows would send if only hosts' interfaces held them back, not the paths that they have now."""

from __future__ import annotations

from dataclasses import dataclass

from hedera import _core
from hedera.fabric import Ints, Vector

MOST_ROUNDS = 1000
"""Flows settle in as many rounds as there are bottlenecks that wait for each other, which are few."""


@dataclass(frozen=True, eq=False)
class DemandEstimate:
    """What F flows would send.

    Attributes:
        demand: in Mbit/s, shape (F,).
        rounds: of senders and receivers, the last of which changed nothing.
        settled: whether there was such a round.
    """

    demand: Vector
    rounds: int
    settled: bool


def estimate_demands(hosts: int, source: Ints, target: Ints, nic_rate: float) -> DemandEstimate:
    """The demands of flows between hosts 0 to `hosts` - 1, shapes (F,), all of which have no end.

    Senders share their interface equally among flows that are not yet limited by a receiver; receivers that are
    offered more than their interface takes limit the flows that ask for more than an equal share; and so on, until
    nothing changes (Hedera, section 4.1). Several flows between two hosts count as several: that is how
    TCP shares an interface.

    Raises:
        ValueError: hosts that there are not, or arrays of different lengths.
    """
    return DemandEstimate(*_core.estimate(hosts, source, target, nic_rate, MOST_ROUNDS))
