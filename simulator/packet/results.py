"""What a simulation has to say, at its end or on the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class FlowResults:
    """What became of F flows, in the order in which they were given.

    Attributes:
        start: seconds, shape (F,) like all of these.
        finished: seconds when the last byte arrived; infinite when it has not.
        acknowledged: seconds when the sender knew.
        goodput: bytes of payload that arrived for the first time (TCP: and in order).
        sent, arrived, dropped, marked: packets of data; those that arrived marked.
        retransmitted, timeouts, recoveries: of TCP.
    """

    start: NDArray[np.float64]
    finished: NDArray[np.float64]
    acknowledged: NDArray[np.float64]
    goodput: NDArray[np.uint64]
    sent: NDArray[np.uint64]
    arrived: NDArray[np.uint64]
    dropped: NDArray[np.uint64]
    marked: NDArray[np.uint64]
    retransmitted: NDArray[np.uint32]
    timeouts: NDArray[np.uint32]
    recoveries: NDArray[np.uint32]

    @property
    def completion(self) -> NDArray[np.float64]:
        """Seconds from start to the last byte's arrival, shape (F,)."""
        return self.finished - self.start


@dataclass(frozen=True, eq=False)
class LinkResults:
    """What happened at L links until now, each shape (L,).

    Attributes:
        sent_packets, sent_bytes: whose transmission has begun.
        dropped_packets, dropped_bytes: by the queue.
        marked_packets: by the queue.
        lost_packets: by a failure of the link.
        queued: bytes that wait now.
        queued_peak: the most bytes that waited at a time.
        queued_byte_seconds: bytes that waited, summed over time; the mean queue is this by the time that passed.
        on_link: packets that are being sent or on the wire now.
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
class FlowStates:
    """What TCP flows are at now, each shape (F,); zeros for flows that have not begun, have ended or are no TCP.

    Attributes:
        window: of congestion control, segments.
        outstanding: segments that were sent and are not acknowledged.
        round_trip: smoothed, seconds.
    """

    window: NDArray[np.float64]
    outstanding: NDArray[np.uint32]
    round_trip: NDArray[np.float64]


@dataclass(frozen=True)
class Totals:
    """Packets of all kinds: `made` is `arrived` + `dropped` (by queues) + `lost` (by failed links) + `in_flight`."""

    made: int
    arrived: int
    dropped: int
    lost: int
    in_flight: int
    data_arrived: int
    allocated: int
    events: int
