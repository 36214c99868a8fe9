"""Results of a simulation, at its end or while it runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class FlowResults:
    """The results of F flows, in the order in which they were given.

    Attributes:
        start: start time in seconds, shape (F,) like all columns.
        finished: time in seconds when the last byte arrived; infinite if it has not.
        acknowledged: time in seconds when the sender received the last acknowledgement; infinite if it has not.
        goodput: bytes of payload that arrived for the first time (TCP: and in order).
        sent, arrived, dropped, marked: data packets; `marked` counts those that arrived with a mark.
        reordered: packets that arrived after one sent later; counted for transports without acknowledgements only.
        retransmitted, timeouts, recoveries: counters of TCP.
    """

    start: NDArray[np.float64]
    finished: NDArray[np.float64]
    acknowledged: NDArray[np.float64]
    goodput: NDArray[np.uint64]
    sent: NDArray[np.uint64]
    arrived: NDArray[np.uint64]
    dropped: NDArray[np.uint64]
    marked: NDArray[np.uint64]
    reordered: NDArray[np.uint32]
    retransmitted: NDArray[np.uint32]
    timeouts: NDArray[np.uint32]
    recoveries: NDArray[np.uint32]

    @property
    def completion(self) -> NDArray[np.float64]:
        """Seconds from start to the last byte's arrival, shape (F,)."""
        return self.finished - self.start


@dataclass(frozen=True, eq=False)
class LinkResults:
    """The counters of L links until now, each of shape (L,).

    Attributes:
        sent_packets, sent_bytes: packets whose transmission has begun.
        dropped_packets, dropped_bytes: drops by the queue.
        marked_packets: marks by the queue.
        lost_packets: packets lost by a failed or lossy link, or by a fault of the switch at its beginning.
        queued: bytes that wait now.
        queued_peak: the most bytes that ever waited.
        queued_byte_seconds: waiting bytes integrated over time; divided by the time it is the mean queue.
        on_link: packets in transmission or on the wire now.
    """

    sent_packets: NDArray[np.uint64]
    sent_bytes: NDArray[np.uint64]
    dropped_packets: NDArray[np.uint64]
    dropped_bytes: NDArray[np.uint64]
    marked_packets: NDArray[np.uint64]
    lost_packets: NDArray[np.uint64]
    queued: NDArray[np.int64]
    queued_peak: NDArray[np.int64]
    queued_byte_seconds: NDArray[np.float64]
    on_link: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class QueueResults:
    """The counters of Q queues at the outputs of L links until now, in the order of service, each of shape (L, Q).

    Attributes:
        sent_packets, sent_bytes: packets whose transmission has begun.
        dropped_packets, dropped_bytes: drops by the queue.
        lost_packets: packets that waited when the link failed.
    """

    sent_packets: NDArray[np.uint64]
    sent_bytes: NDArray[np.uint64]
    dropped_packets: NDArray[np.uint64]
    dropped_bytes: NDArray[np.uint64]
    lost_packets: NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class FlowStates:
    """The present state of TCP flows, shape (F,) each; zeros for flows not begun or ended, and for other transports.

    Attributes:
        window: congestion window in segments.
        outstanding: segments sent and not yet acknowledged.
        round_trip: smoothed round-trip time in seconds.
    """

    window: NDArray[np.float64]
    outstanding: NDArray[np.uint32]
    round_trip: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CreditResults:
    """The credits of F flows of transports by credits, shape (F,) each; zeros for other transports.

    Attributes:
        offered: emulation packets or credits that were sent.
        credits: credits that reached the sender, also when its flow had ended.
        unused: those for which the sender had nothing to send, or which came too late.
        yielded: over-provisioned emulation packets that were dropped, so that no credit came for them.
    """

    offered: NDArray[np.uint32]
    credits: NDArray[np.uint32]
    unused: NDArray[np.uint32]
    yielded: NDArray[np.uint32]


@dataclass(frozen=True)
class Totals:
    """Packets of all kinds: `made` is `arrived` + `dropped` (by queues) + `lost` + `in_flight`.

    Links lose packets when they have failed or are lossy, and switches those that they cannot forward: `unroutable`
    counts the latter, and each of them also counts as lost by the link that it came by. `swallowed` counts packets lost
    by faults of switches; each of them also counts as lost by the link that it would have left by. `probes` of path
    selection, of `probe_bytes`, are among the `made`, and so are their answers. `events` are arrivals and timers.
    """

    made: int
    arrived: int
    dropped: int
    lost: int
    unroutable: int
    swallowed: int
    in_flight: int
    data_arrived: int
    probes: int
    probe_bytes: int
    allocated: int
    events: int


@dataclass(frozen=True)
class PathTotals:
    """Counts of senders' path selection.

    Attributes:
        moves: moves of flows to another path.
        failed: paths that were found failed, for all hosts of two racks or for two hosts.
    """

    moves: int
    failed: int
