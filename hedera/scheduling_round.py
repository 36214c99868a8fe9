"""One round of the scheduler, without switches: counters in, changes of entries out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedera import _core
from hedera.demand_estimation import estimate_demands
from hedera.fabric import HASHED, Fabric, Ints, Vector
from hedera.placement.interface import Elephants, Placement

ELEPHANT = 0.1
"""Of a host's interface: what flows faster than this is scheduled, as in the paper."""


@dataclass(frozen=True, eq=False)
class Poll:
    """What edge switches have answered: F flows, those of one switch after those of another.

    Attributes:
        time: in seconds; later than that of any poll before that one of these switches has answered.
        switches: who has answered, each once; edge switches are numbered as in `Fabric.edge_first`.
        first: where the flows of each of them begin, and where the last one's end.
        key: what tells the flows of a switch apart, shape (F,).
        source, target: hosts, shape (F,).
        sent: bytes, by the flow's counter, shape (F,).
        age: seconds since the counter began, shape (F,).
    """

    time: float
    switches: Ints
    first: NDArray[np.int64]
    key: NDArray[np.uint64]
    source: Ints
    target: Ints
    sent: NDArray[np.uint64]
    age: Vector


@dataclass(frozen=True, eq=False)
class Changes:
    """What is to be changed in the switches, by positions of flows in the poll.

    Attributes:
        placed: flows that go by another label than before, and had none or another one.
        labels: theirs.
        released: flows that had a label and are left to the hash from now on.
        rates: what all flows have, in Mbit/s, shape (F,).
        strangers: flows of hosts that the network does not have, which are left alone.
    """

    placed: NDArray[np.int64]
    labels: Ints
    released: NDArray[np.int64]
    rates: Vector
    strangers: NDArray[np.int64]


class SchedulingRound:
    """Remembers counters and labels from one round to the next.

    A flow that its switch no longer names is forgotten: it has ended, and its entries time out. So is what a switch
    had said when it does not answer: its flows take part in no placement until it answers again.
    """

    def __init__(self, fabric: Fabric, placement: Placement, threshold: float = ELEPHANT) -> None:
        self._fabric, self._placement, self._threshold = fabric, placement, threshold
        self._book = _core.FlowBook(fabric.edge_first.size - 1)

    def run(self, poll: Poll, capacity: Vector | None = None) -> Changes:
        """Decide by one poll; `capacity` is that of the links now, zero for dead ones.

        Raises:
            ValueError: a poll that does not fit together, or switches that there are not.
        """
        fabric = self._fabric
        rates, before = self._book.read(poll.time, poll.switches, poll.first, poll.key, poll.sent, poll.age)
        known = _known(fabric, poll.source) & _known(fabric, poll.target)
        large = np.flatnonzero(known & (rates > self._threshold * fabric.nic_rate))
        usable = fabric.capacity if capacity is None else capacity
        choice = np.full(poll.key.size, HASHED, np.int32)
        choice[large] = place_by_demand(
            self._placement, fabric, poll.source[large], poll.target[large], before[large], usable
        )
        self._book.note(choice)
        placed = np.flatnonzero((choice != before) & (choice != HASHED))
        released = np.flatnonzero((choice == HASHED) & (before != HASHED))
        return Changes(placed, choice[placed], released, rates, np.flatnonzero(~known))


def place_by_demand(
    placement: Placement, fabric: Fabric, source: Ints, target: Ints, before: Ints, capacity: Vector
) -> Ints:
    """Labels for elephants between these hosts, which had the labels `before`, by their estimated demands."""
    demand = estimate_demands(fabric.hosts, source, target, fabric.nic_rate).demand
    return placement.place(fabric, Elephants.of(source, target, demand, before), capacity)


def _known(fabric: Fabric, hosts: Ints) -> NDArray[np.bool_]:
    return (hosts >= 0) & (hosts < fabric.hosts)
