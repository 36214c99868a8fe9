"""The queues of a switch port and which packets belong in which: pure data that controller and testbed share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue of a port.

    Attributes:
        queue_id: OpenFlow's number of the queue.
        name: for people.
        traffic_class: labelled packets with this MPLS traffic class (RFC 5462) belong in it.
        ecn: where tunnels are tagged in the IP header, packets with these two bits do; None: it cannot be used there.
        guaranteed: share of the port's rate that it gets before queues that are served earlier, 0 to 1.
    """

    queue_id: int
    name: str
    traffic_class: int
    ecn: int | None = None
    guaranteed: float = 0.0


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """The traffic of one priority: how hosts mark it and where it queues.

    Attributes:
        priority: that of `te_solver.plan.PairPlan`, 0 the most important.
        code_points: the DSCP values (RFC 2474) of its packets when they leave their host.
        normal: the queue of its aboriginal traffic.
        victim: the queue of its traffic on a tunnel that is not its own.
    """

    priority: int
    code_points: tuple[int, ...]
    normal: Queue
    victim: Queue


@dataclass(frozen=True, slots=True)
class QueueLayout:
    """The queues of every port and the classes of traffic they serve.

    Attributes:
        name: for people.
        queues: all of them, in the strict order in which a port serves them.
        control: the queue of control traffic; it may serve a class as well.
        classes: the most important first. Packets that no class claims by their code point, and all that carry no tag,
            belong to the last one.
    """

    name: str
    queues: tuple[Queue, ...]
    control: Queue
    classes: tuple[TrafficClass, ...]

    @property
    def default(self) -> Queue:
        """Where packets without a tag wait."""
        return self.classes[-1].normal

    @property
    def victims(self) -> frozenset[Queue]:
        """The queues that serve victims."""
        return frozenset(each.victim for each in self.classes)


def _plain() -> QueueLayout:
    control = Queue(0, "control", traffic_class=6, ecn=2)
    normal = Queue(1, "normal", traffic_class=0, ecn=0)
    victim = Queue(2, "victim", traffic_class=1, ecn=1)
    return QueueLayout("plain", (control, normal, victim), control, (TrafficClass(0, (), normal, victim),))


PLAIN_LAYOUT = _plain()
"""The three queues of traffic of one priority (Zhang et al., Kuijia, section 3).

Traffic class 6 stands for DSCP CS6, which marks network control traffic (RFC 4594, section 3.1).
"""
