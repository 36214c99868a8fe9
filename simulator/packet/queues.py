"""What stands in front of a link: queues, what they drop and mark, and the order in which they are served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.packet import _core
from simulator.packet.units import bits_per_second, picoseconds
from te_solver.errors import UnsoundError

UNLIMITED = 1 << 30
"""Bytes: the largest limit of a queue, more than a host's card ever has waiting."""


@dataclass(frozen=True)
class Threshold:
    """Marks packets that find more than `size` bytes waiting, if they are capable of ECN (RFC 8257 section 3.1)."""

    size: int


@dataclass(frozen=True)
class Red:
    """Random early detection on bytes (Floyd and Jacobson, 1993): marks what is capable of ECN and drops the rest.

    Attributes:
        low: bytes of the average below which nothing happens.
        high: bytes of the average from which on everything is dropped.
        probability: with which a packet is hit just below `high`.
        weight: of a new packet's queue in the average; 1 for no averaging.
    """

    low: int
    high: int
    probability: float = 0.1
    weight: float = 0.002


@dataclass(frozen=True)
class TokenBucket:
    """Holds packets back to `rate` Mbit/s, after `burst` bytes."""

    rate: float
    burst: int


@dataclass(frozen=True)
class Fifo:
    """First in, first out.

    Attributes:
        limit: bytes that may wait; the packet that is being sent no longer does.
        marking: when packets are marked.
        random_drop: a packet that does not fit drives out one of those waiting or itself, with probabilities in
            proportion to size, until it fits or is gone.
        random_mark: a mark is put on one of those waiting or the new one, likewise.
        shaping: what holds packets back.
        cell: bytes: a packet takes whole cells of `limit`, and its size is that of these.
    """

    limit: int = UNLIMITED
    marking: Threshold | Red | None = None
    random_drop: bool = False
    random_mark: bool = False
    shaping: TokenBucket | None = None
    cell: int = 1

    def rules(self) -> _core.QueueRules:
        if not 0 < self.limit <= UNLIMITED:
            raise UnsoundError(("limit",), f"is {self.limit}", f"1 to {UNLIMITED} bytes")
        red = self.marking if isinstance(self.marking, Red) else Red(0, 1)
        kind, low = _core.Marking.NONE, 0
        if isinstance(self.marking, Threshold):
            kind, low = _core.Marking.THRESHOLD, self.marking.size
        elif isinstance(self.marking, Red):
            kind, low = _core.Marking.RED, red.low
        return _core.QueueRules(
            limit=self.limit,
            marking=kind,
            low=low,
            high=red.high,
            probability=red.probability,
            weight=red.weight,
            overflow=_core.Overflow.RANDOM if self.random_drop else _core.Overflow.TAIL,
            mark_random=self.random_mark,
            shaped=bits_per_second(self.shaping.rate) if self.shaping else 0,
            burst=self.shaping.burst if self.shaping else 0,
            cell=self.cell,
        )


@dataclass(frozen=True)
class StrictPriority:
    """One queue per level of priority; a queue is served when those before it have nothing that may go.

    Packets of levels beyond the last queue go to the last.
    """

    queues: Sequence[Fifo]


@dataclass(frozen=True)
class RoundRobin:
    """One queue per level of priority; each in turn sends up to its weight in packets."""

    queues: Sequence[Fifo]
    weights: Sequence[int]


@dataclass(frozen=True)
class Crosspoints:
    """One queue per input of the switch, served in turn, a packet each: a crosspoint-queued switch."""

    queue: Fifo


@dataclass(frozen=True)
class HashedCredits:
    """Hashed Credits Fair (Shpiner et al., Computer Networks 56, 2012): two queues that exchange roles.

    A packet whose flow's bin has a credit spends it and goes to the queue that is served first, any other to the second
    one. When a packet is to be sent and the first queue is empty, the two exchange roles, and bins have their credits
    again.

    Attributes:
        queue: each of the two.
        bins: flows are hashed to these.
        credits: of a bin, in packets.
        hashed_anew_after: seconds that a hash function lasts at least; it changes when queues exchange roles.
    """

    queue: Fifo
    bins: int = 20
    credits: int = 1
    hashed_anew_after: float = 0.001


Queueing = Fifo | StrictPriority | RoundRobin | Crosspoints | HashedCredits


def smallest_limit(queueing: Queueing) -> int:
    """Bytes of the largest packet that fits into the smallest of its queues."""
    if isinstance(queueing, Fifo):
        return queueing.limit // queueing.cell * queueing.cell
    if isinstance(queueing, Crosspoints | HashedCredits):
        return smallest_limit(queueing.queue)
    return min(smallest_limit(queue) for queue in queueing.queues)


def core_queueing(queueing: Queueing, inputs: int) -> _core.Queueing:
    """As the core takes it, at a port of a switch of so many inputs."""
    level, strict, turns = _core.Classifier.LEVEL, _core.Order.STRICT, _core.Order.ROUND_ROBIN
    if isinstance(queueing, Fifo):
        return _core.Queueing(classifier=level, order=strict, queues=[queueing.rules()], weights=[1])
    if isinstance(queueing, Crosspoints):
        queues, ones = [queueing.queue.rules()] * inputs, [1] * inputs
        return _core.Queueing(classifier=_core.Classifier.INPUT, order=turns, queues=queues, weights=ones)
    if isinstance(queueing, HashedCredits):
        return _core.Queueing(
            classifier=_core.Classifier.CREDITS,
            order=strict,
            queues=[queueing.queue.rules()] * 2,
            weights=[1, 1],
            hashed_credits=_core.HashedCreditsRules(
                bins=queueing.bins,
                per_bin=queueing.credits,
                hashed_anew_after=int(picoseconds(queueing.hashed_anew_after)),
            ),
        )
    rules = [queue.rules() for queue in queueing.queues]
    if isinstance(queueing, StrictPriority):
        return _core.Queueing(classifier=level, order=strict, queues=rules, weights=[1] * len(rules))
    return _core.Queueing(classifier=level, order=turns, queues=rules, weights=list(queueing.weights))
