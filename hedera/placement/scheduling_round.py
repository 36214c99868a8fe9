"""One round of the scheduler on arrays, without switches: counters in, changes of labels out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedera import _core
from hedera.network.fabric import HASHED, Fabric, Ints, Vector
from hedera.placement.demand_estimation import estimate_demands
from hedera.placement.interface import Elephants, Placement

ELEPHANT = 0.1
"""Share of a host's interface above which a flow is scheduled, as in the paper."""


@dataclass(frozen=True, eq=False)
class PollReply:
    """The answers of edge switches to one poll: F flows, grouped by switch.

    Attributes:
        time: seconds; later than any earlier poll that one of these switches has answered.
        switches: the switches that answered, each once; edge switches are numbered as in `Fabric.edge_first`.
        first: where the flows of each switch begin, and where the last one's end.
        key: identifies a flow within its switch, shape (F,).
        source, target: hosts, shape (F,).
        sent: bytes by the flow's counter, shape (F,).
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
    """The changes to make in the switches, by positions of flows in the poll.

    Attributes:
        placed: flows with a new label, which had none or another one.
        labels: their labels.
        released: flows that had a label and are left to the hash from now on.
        rates: Mbit/s of all flows, shape (F,).
        strangers: flows of hosts that the network does not have; they are left alone.
    """

    placed: NDArray[np.int64]
    labels: Ints
    released: NDArray[np.int64]
    rates: Vector
    strangers: NDArray[np.int64]


class SchedulingRound:
    """A scheduler that remembers counters and labels from one round to the next.

    A flow that its switch no longer reports is forgotten: it has ended, and its entries time out. The flows of a switch
    that does not answer take part in no placement until it answers again.
    """

    def __init__(self, fabric: Fabric, placement: Placement, threshold: float = ELEPHANT) -> None:
        self._fabric, self._placement, self._threshold = fabric, placement, threshold
        self._book = _core.FlowBook(fabric.edge_first.size - 1)

    def run(self, poll: PollReply, capacity: Vector | None = None) -> Changes:
        """Run a round on one poll; `capacity` is the present capacity of links, zero for dead ones.

        Raises:
            ValueError: the poll is inconsistent, or a switch does not exist.
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
    """Return labels for elephants between these hosts, which had the labels `before`, by their estimated demands."""
    demand = estimate_demands(fabric.hosts, source, target, fabric.nic_rate).demand
    return placement.place(fabric, Elephants.of(source, target, demand, before), capacity)


def _known(fabric: Fabric, hosts: Ints) -> NDArray[np.bool_]:
    return (hosts >= 0) & (hosts < fabric.hosts)
