"""The queues of a switch port and the packets they serve: pure data shared by controller and testbed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from kuijia_app.tables.classifiers import NO_CLASSIFIERS, Classifiers, require_sound_classifiers
from kuijia_app.tables.identifiers import MAX_CLASSES
from kuijia_base.errors import UnsoundError, quoted

_ROUNDING = 1e-9
"""Tolerance of shares that sum to one."""

LAST_QUEUE_ID = 0xFFFC
"""Last queue id: queue n is class n + 1 of a port's tree, whose root is class 0xfffe."""

MAX_QUEUES = 8
"""A traffic class has three bits, and the kernel's HTB distinguishes eight priorities."""

DSCP_NETWORK_CONTROL = 48
"""CS6, the code point of network control traffic (RFC 4594, section 3.1), whatever the layout."""


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue of a port.

    Attributes:
        queue_id: OpenFlow's number of the queue.
        name: for people.
        traffic_class: MPLS traffic class (RFC 5462) of labelled packets for this queue.
        ecn: ECN bits of packets for this queue if tunnels are tagged in the IP header; None: unusable there.
        guaranteed: share of the port's rate, 0 to 1, that it gets before queues that are served earlier.
    """

    queue_id: int
    name: str
    traffic_class: int
    ecn: int | None = None
    guaranteed: float = 0.0


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """The traffic of one priority: its marks by hosts and its queues.

    Attributes:
        priority: as in `te_solver.model.plan.PairPlan`, 0 the most important.
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
        classes: the most important first. Packets whose code point no class claims, and all packets without a tag,
            belong to the last one.
        classifiers: rules that classify packets of hosts before their code points do.
    """

    name: str
    queues: tuple[Queue, ...]
    control: Queue
    classes: tuple[TrafficClass, ...]
    classifiers: Classifiers = NO_CLASSIFIERS

    @property
    def default(self) -> Queue:
        """Queue of packets without a tag."""
        return self.classes[-1].normal


def require_sound(layout: QueueLayout) -> None:
    """Check the invariants of a layout.

    Raises:
        UnsoundError: at the first fault; `where` leads to an item of `queues` or `classes`, in their order.
    """
    if len(layout.queues) > MAX_QUEUES:
        raise UnsoundError(("queues",), f"{len(layout.queues)} queues", f"at most {MAX_QUEUES}")
    for position, queue in enumerate(layout.queues):
        _require_sound_queue(queue, ("queues", position))
    _require_different("queues", "queue id", "queue_id", [queue.queue_id for queue in layout.queues])
    _require_different("queues", "name", "name", [queue.name for queue in layout.queues])
    _require_different("queues", "traffic class", "traffic_class", [queue.traffic_class for queue in layout.queues])
    _require_different("queues", "ECN bits", "ecn", [queue.ecn for queue in layout.queues])
    guaranteed = sum(queue.guaranteed for queue in layout.queues)
    if guaranteed > 1 + _ROUNDING:
        raise UnsoundError(("queues",), f"{guaranteed:g} of the rate is guaranteed in sum", "no more than 1")
    if not 1 <= len(layout.classes) <= MAX_CLASSES:
        raise UnsoundError(("classes",), f"{len(layout.classes)} classes", f"1 to {MAX_CLASSES}")
    claimed: set[int] = set()
    for position, each in enumerate(layout.classes):
        where = ("classes", position)
        if each.priority != position:
            expected = f"{position}: priorities count from 0, the most important, without gaps"
            raise UnsoundError((*where, "priority"), f"priority {each.priority}", expected)
        if not each.code_points and position < len(layout.classes) - 1:
            expected = "at least one: only the last class has unmarked packets"
            raise UnsoundError((*where, "code_points"), f"class {each.priority} has no code points", expected)
        if layout.queues.index(each.victim) <= layout.queues.index(each.normal):
            problem = f"victims of class {each.priority} wait in {quoted(each.victim.name)}"
            expected = f"a queue that is served after its normal one, {quoted(each.normal.name)}"
            raise UnsoundError((*where, "victim"), problem, expected)
        for code_point in each.code_points:
            _require_free_code_point(code_point, claimed, (*where, "code_points"))
            claimed.add(code_point)
    _require_sound_rules(layout)


def _require_sound_rules(layout: QueueLayout) -> None:
    for position, rule in enumerate(layout.classifiers.rules):
        if rule.dscp is not None:
            _require_free_code_point(rule.dscp, set(), ("classifiers", position, "dscp"))
    require_sound_classifiers(layout.classifiers, [each.priority for each in layout.classes])


def _require_sound_queue(queue: Queue, where: tuple[str | int, ...]) -> None:
    bounds = (("queue_id", "queue id", queue.queue_id, LAST_QUEUE_ID), ("ecn", "ECN bits", queue.ecn, 3))
    for key, what, value, last in (*bounds, ("traffic_class", "traffic class", queue.traffic_class, 7)):
        if value is not None and not 0 <= value <= last:
            raise UnsoundError((*where, key), f"{what} {value}", f"0 to {last}")
    if not 0 <= queue.guaranteed <= 1:
        raise UnsoundError((*where, "guaranteed"), f"guaranteed share {queue.guaranteed:g}", "0 to 1")


def _require_different(part: str, what: str, key: str, values: Iterable[Hashable]) -> None:
    seen: set[Hashable] = set()
    for position, value in enumerate(values):
        if value is not None and value in seen:
            shown = quoted(value) if isinstance(value, str) else value
            raise UnsoundError((part, position, key), f"{what} {shown} is given twice", "one of its own for each queue")
        seen.add(value)


def _require_free_code_point(code_point: int, claimed: set[int], where: tuple[str | int, ...]) -> None:
    if not 0 <= code_point <= 63:
        raise UnsoundError(where, f"code point {code_point}", "0 to 63")
    if code_point == DSCP_NETWORK_CONTROL:
        raise UnsoundError(where, f"code point {code_point} is that of control traffic", "another one")
    if code_point in claimed:
        raise UnsoundError(where, f"code point {code_point} is given twice", "each in one class")


def _plain() -> QueueLayout:
    control = Queue(0, "control", traffic_class=6, ecn=2)
    normal = Queue(1, "normal", traffic_class=0, ecn=0)
    victim = Queue(2, "victim", traffic_class=1, ecn=1)
    return QueueLayout("plain", (control, normal, victim), control, (TrafficClass(0, (), normal, victim),))


PLAIN_LAYOUT = _plain()
"""The three queues of traffic of one priority (Zhang et al., Kuijia, section 3).

Traffic class 6 stands for DSCP CS6, which marks network control traffic (RFC 4594, section 3.1).
"""
