"""Transports by credits over a plan: classes of traffic for control, credits and data, and the queues of each port.

Packets of all three follow the tunnels of their flow, as the classes of a pair share tunnels, weights and slots. Those
of victims wait behind the others of their class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.queue_layouts import AF41, EXPEDITED
from kuijia_app.tables.queues import Queue, QueueLayout, TrafficClass
from kuijia_base.errors import UnsoundError
from simulator.packet.credited import (
    CONTROL,
    DATA,
    DATA_LEVEL,
    Credited,
    FlashPass,
    Ports,
)
from simulator.packet.queues import UNLIMITED, SharedShaping, StrictPriority
from simulator.packet.transports import Transport
from te_solver.model.plan import PairPlan, Plan


class VictimCredits(Enum):
    """Service of the credits, or emulation packets, of victims.

    `SAME`: in the queue of the others. `OWN`: in a queue of their own behind it, with as many credits again. `SHARED`:
    likewise, and both queues share the credits of the link, so that victims get those that the others leave.
    """

    SAME = "same"
    OWN = "own"
    SHARED = "shared"


_CONTROL = Queue(0, "control", traffic_class=6), Queue(1, "control of victims", traffic_class=7)
_CREDITS = Queue(2, "credits", traffic_class=4), Queue(3, "credits of victims", traffic_class=5)
_DATA = Queue(4, "data", traffic_class=0), Queue(5, "data of victims", traffic_class=1)
_CREDIT_PLACES, _DATA_PLACES = (2, 3), (4, 5)

DATA_CLASS = DATA_LEVEL
"""Priority of data, also of transports without credits that run beside."""


def is_credited(transports: Iterable[Transport]) -> bool:
    """Return True if one of these transports needs queues for credits."""
    return any(isinstance(transport, Credited) for transport in transports)


def credit_layout(victims: VictimCredits) -> QueueLayout:
    """Return the queues of every port: packets without marks are data."""
    of_credits = TrafficClass(1, (AF41,), _CREDITS[0], _CREDITS[0 if victims is VictimCredits.SAME else 1])
    classes = (TrafficClass(0, (EXPEDITED,), *_CONTROL), of_credits, TrafficClass(DATA_CLASS, (), *_DATA))
    return QueueLayout("credits", (*_CONTROL, *_CREDITS, *_DATA), _CONTROL[0], classes)


def with_credits(options: PipelineOptions, victims: VictimCredits) -> PipelineOptions:
    """Return the options with the layout for credits.

    Raises:
        UnsoundError: the layout has several classes of traffic.
    """
    if len(options.layout.classes) > 1:
        problem = f"layout {options.layout.name} has {len(options.layout.classes)} classes of traffic"
        raise UnsoundError(("queues",), problem, "one: credits have classes of their own")
    return replace(options, layout=credit_layout(victims))


def in_credit_classes(plan: Plan) -> Plan:
    """Return the plan with each pair in the three classes."""
    pairs = (_in_class(pair, priority) for pair in plan.pairs for priority in range(DATA_CLASS + 1))
    return replace(plan, pairs=tuple(pairs))


def _in_class(pair: PairPlan, priority: int) -> PairPlan:
    return replace(pair, priority=priority)


@dataclass(frozen=True)
class CreditPorts:
    """Queues of ports by the rate of their link.

    Attributes:
        ports: as without a plan.
        buffer: bytes of each queue of data.
    """

    ports: Ports
    victims: VictimCredits
    buffer: int

    @classmethod
    def of(cls, transports: Iterable[Transport], victims: VictimCredits, buffer: int) -> CreditPorts:
        """Return the queues that these transports need.

        Raises:
            UnsoundError: they need different ones.
        """
        wanted = {transport.ports for transport in transports if isinstance(transport, Credited)}
        if len(wanted) > 1:
            raise UnsoundError(("traffic",), "transports by credits that need different queues", "one of them")
        (ports,) = wanted
        return cls(ports, victims, buffer)

    def between_switches(self, rate: float) -> StrictPriority:
        """Return the queues of a switch's port, in the order of the layout."""
        control, limited, data = self.ports.of(rate, self.buffer).queues
        shared = []
        if self.victims is VictimCredits.SHARED and limited.shaping is not None:
            shared.append(SharedShaping(_CREDIT_PLACES, limited.shaping))
            limited = replace(limited, shaping=None)
        if data.shaping is not None:
            shared.append(SharedShaping(_DATA_PLACES, data.shaping))
            data = replace(data, shaping=None)
        return StrictPriority([control, control, limited, limited, data, data], shared)

    def of_host(self, rate: float) -> StrictPriority:
        """Return the queues of a host's port, in the order of the transport's levels."""
        return self.ports.of(rate, UNLIMITED)

    def seconds(self, rate: float) -> float:
        """Return the seconds of an emulation packet in full queues of credits and behind data."""
        queues = 1 if self.victims is VictimCredits.SAME else 2
        waiting = queues * self.ports.credits * CONTROL / (rate * self.ports.share)
        return 8e-6 * (waiting + (DATA + CONTROL) / rate)


def waiting(transport: Transport, plans: Sequence[Plan], ports: CreditPorts, host: tuple[float, float]) -> Transport:
    """Return FlashPass with the time that suffices on all tunnels of the plans, if it leaves it open.

    Args:
        transport: any transport.
        plans: all plans of the run, on links with their delays.
        ports: queues of all ports.
        host: Mbit/s of the slowest host's link, and seconds of delay from it to its switch.
    """
    if not isinstance(transport, FlashPass) or transport.wait is not None:
        return transport
    rate, delay = host
    at_hosts = 4 * (delay + ports.seconds(rate))
    longest = max((_there_and_back(plan, nodes, ports) for plan in plans for nodes in _paths(plan)), default=0.0)
    return replace(transport, wait=at_hosts + longest)


def _paths(plan: Plan) -> Iterable[tuple[str, ...]]:
    """Return the ways of all tunnels whose links the network has in both directions."""
    ways = {tunnel.nodes for tunnel in plan.tunnels}
    has_link = plan.topology.has_link
    return {way for way in ways if all(has_link(a, b) and has_link(b, a) for a, b in pairwise(way))}


def _there_and_back(plan: Plan, nodes: tuple[str, ...], ports: CreditPorts) -> float:
    links = [plan.topology.link(*hop) for way in (nodes, nodes[::-1]) for hop in pairwise(way)]
    return sum(link.delay + ports.seconds(link.capacity) for link in links)
