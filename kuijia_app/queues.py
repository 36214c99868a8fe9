"""The queues of a switch port and which packets belong in which: pure data that controller and testbed share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue of a port.

    `queue_id` is OpenFlow's number of the queue. Labelled packets whose MPLS traffic class (RFC 5462) is
    `traffic_class` belong in it.
    """

    queue_id: int
    name: str
    traffic_class: int


@dataclass(frozen=True, slots=True)
class QueueLayout:
    """The three queues of single-priority traffic (Kuijia, section 4.3); what no queue claims is normal traffic."""

    control: Queue
    normal: Queue
    victim: Queue

    @property
    def queues(self) -> tuple[Queue, ...]:
        """All queues in the strict order in which a port serves them."""
        return (self.control, self.normal, self.victim)


PLAIN_LAYOUT = QueueLayout(
    control=Queue(queue_id=0, name="control", traffic_class=6),
    normal=Queue(queue_id=1, name="normal", traffic_class=0),
    victim=Queue(queue_id=2, name="victim", traffic_class=1),
)
"""Traffic class 6 stands for DSCP CS6, which marks network control traffic (RFC 4594, section 3.1)."""
