"""Queues of output ports: limits, drops, marks, and the order of service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

UNLIMITED = 1 << 30
"""Largest limit of a queue in bytes, more than ever waits at a host's network card."""


@dataclass(frozen=True)
class Threshold:
    """Marking of ECN-capable packets that find more than `size` bytes waiting (RFC 8257 section 3.1).

    With `drops` other packets are dropped there: the selective dropping of Aeolus (Hu et al., SIGCOMM 2020).
    """

    size: int
    drops: bool = False


@dataclass(frozen=True)
class Red:
    """Random early detection on bytes (Floyd and Jacobson, 1993): marks ECN-capable packets and drops others.

    Attributes:
        low: average queue in bytes below which packets are neither marked nor dropped.
        high: average queue in bytes from which on every packet is dropped.
        probability: probability that a packet is marked or dropped just below `high`.
        weight: weight in the average of the queue that a new packet finds; 1 for no averaging.
    """

    low: int
    high: int
    probability: float = 0.1
    weight: float = 0.002


@dataclass(frozen=True)
class TokenBucket:
    """Token bucket that shapes packets to `rate` Mbit/s after a burst of `burst` bytes."""

    rate: float
    burst: int


@dataclass(frozen=True)
class Fifo:
    """First in, first out.

    Attributes:
        limit: bytes that may wait, without the packet in transmission.
        marking: the rule that marks packets; None for no marks.
        random_drop: if a packet does not fit, a waiting packet or the new one is dropped, with probabilities in
            proportion to size, until the new one fits or is dropped itself.
        random_mark: a waiting packet or the new one is marked, with the same probabilities.
        shaping: the token bucket that packets wait for; None for no shaping.
        cell: bytes of a memory cell; a packet occupies whole cells of `limit`, and these count as its size.
    """

    limit: int = UNLIMITED
    marking: Threshold | Red | None = None
    random_drop: bool = False
    random_mark: bool = False
    shaping: TokenBucket | None = None
    cell: int = 1

    @property
    def smallest_limit(self) -> int:
        """Bytes of the largest packet that fits, here as in every queueing into its smallest queue."""
        cell = max(self.cell, 1)  # the core refuses less
        return self.limit // cell * cell


@dataclass(frozen=True)
class SharedShaping:
    """Token bucket that several queues of a port share; the one that is served first takes its tokens first.

    Attributes:
        queues: their places in the order of service.
        bucket: the token bucket.
    """

    queues: Sequence[int]
    bucket: TokenBucket


@dataclass(frozen=True)
class StrictPriority:
    """One queue per priority level; a queue is served when the queues before it have nothing to send.

    Packets of levels beyond the last queue go to the last queue.

    Attributes:
        queues: in the order of service.
        shared: token buckets of several queues.
    """

    queues: Sequence[Fifo]
    shared: Sequence[SharedShaping] = ()

    @property
    def smallest_limit(self) -> int:
        return min(queue.smallest_limit for queue in self.queues)


@dataclass(frozen=True)
class RoundRobin:
    """One queue per priority level; each in turn sends up to its weight in packets."""

    queues: Sequence[Fifo]
    weights: Sequence[int]

    @property
    def smallest_limit(self) -> int:
        return min(queue.smallest_limit for queue in self.queues)


@dataclass(frozen=True)
class Crosspoints:
    """One queue per input of the switch, served in turn, one packet each: a crosspoint-queued switch.

    Attributes:
        queue: the rules of each of them.
        held_while_sent: a packet's memory is free again when its transmission ends, not when it begins.
    """

    queue: Fifo
    held_while_sent: bool = False

    @property
    def smallest_limit(self) -> int:
        return self.queue.smallest_limit


@dataclass(frozen=True)
class HashedCredits:
    """Hashed Credits Fair (Shpiner et al., Computer Networks 56, 2012): two queues that exchange roles.

    A packet whose flow's bin has a credit spends it and goes to the queue that is served first; any other goes to the
    second one. When the first queue is empty at the start of a transmission, the two queues exchange roles and all bins
    regain their credits.

    Attributes:
        queue: the rules of each of the two queues.
        bins: number of bins to which flows are hashed.
        credits: credits of a bin, in packets.
        hashed_anew_after: minimum seconds that a hash function lasts; it changes when the queues exchange roles.
    """

    queue: Fifo
    bins: int = 20
    credits: int = 1
    hashed_anew_after: float = 0.001

    @property
    def smallest_limit(self) -> int:
        return self.queue.smallest_limit


@dataclass(frozen=True)
class SharedBuffer:
    """One memory for all outputs of a switch with this queueing, divided by dynamic thresholds.

    A queue takes packets while it is shorter than `alpha` times the memory that is free (Choudhury and Hahne, IEEE/ACM
    Transactions on Networking 6, 1998).

    Attributes:
        queue: the rules of each output's queue; by its limit it has never more, however much is free.
        total: bytes of the memory.
        alpha: share of the free memory that a queue may have.
    """

    queue: Fifo
    total: int
    alpha: float = 1.0

    @property
    def smallest_limit(self) -> int:
        return min(self.queue.smallest_limit, self.total)


@dataclass(frozen=True)
class DropThresholds:
    """One queue in which packets of higher levels find less room, so that droppable ones are lost first.

    With two levels it is the selective dropping of Aeolus (Hu et al., SIGCOMM 2020).

    Attributes:
        queue: the rules of the queue.
        limits: bytes that may wait together with a packet of level 0, 1 and so on; higher levels have the last limit.
    """

    queue: Fifo
    limits: Sequence[int]

    @property
    def smallest_limit(self) -> int:
        return min(self.queue.smallest_limit, *self.limits)


Queueing = Fifo | StrictPriority | RoundRobin | Crosspoints | HashedCredits | SharedBuffer | DropThresholds
