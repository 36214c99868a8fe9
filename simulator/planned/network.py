"""The network of a plan in the packet model: switches wired as its tables assume, hosts at each site, queues.

Transports by credits have classes of traffic for control, credits and data. Packets of all three follow the tunnels of
their flow, as the classes of a pair share tunnels, weights and slots. Those of victims wait behind the others of their
class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from itertools import pairwise

from kuijia_app.tables.families import Family, first_of
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.queue_layouts import AF41, EXPEDITED
from kuijia_app.tables.queues import DSCP_NETWORK_CONTROL, Queue, QueueLayout, TrafficClass
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.quantities import exact
from simulator.packet.credited import CONTROL, DATA, DATA_LEVEL, Credited, FlashPass, Ports
from simulator.packet.load_balancing import TableSwitched
from simulator.packet.network import Network
from simulator.packet.queues import UNLIMITED, Fifo, Queueing, SharedShaping, StrictPriority, TokenBucket
from simulator.packet.transports import Transport
from simulator.packet.units import FASTEST
from te_solver.model.plan import PairPlan, Plan
from te_solver.model.topology import Topology


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


Ends = tuple[str, str]
"""Source and target of a directed link."""

MOST_HOSTS = 250
"""Hosts of a site, which share its /24."""

_FASTER = 10
"""Default rate of a host's link, in rates of the fastest link of the network."""


@dataclass(frozen=True)
class Physical:
    """Properties of links and hosts that a plan does not have.

    Attributes:
        delay: seconds of each directed link; links that are missing have the delay of the topology.
        queue: rules of each queue of a port, or of all: buffer, ECN threshold and so on. They are served in strict
            priority, in the order of the queue layout.
        hosts: hosts of each site.
        host_rate: Mbit/s of each host's link, by default ten times the network's fastest link.
        host_delay: seconds of each host's link.
        limit_by_link: a flow's limit is the rate of its host's link, instead of that of a token bucket there. It is so
            for transports by credits in any case.
        victim_credits: service of victims' credits, for transports by credits. They have queues of their own, and
            `queue` gives only the bytes of data that wait.
    """

    delay: Mapping[Ends, float] = field(default_factory=dict)
    queue: Fifo | Sequence[Fifo] = field(default_factory=partial(Fifo, limit=1000 * 1500))
    hosts: int = 1
    host_rate: float | None = None
    host_delay: float = 0.0
    limit_by_link: bool = False
    victim_credits: VictimCredits = VictimCredits.SHARED

    @property
    def buffer(self) -> int:
        """Bytes of the smallest queue."""
        return self.queue.limit if isinstance(self.queue, Fifo) else min(queue.limit for queue in self.queue)

    def rate_of_hosts(self, topology: Topology) -> float:
        """Return the Mbit/s of each host's link."""
        fastest = max((link.capacity for link in topology.links), default=1.0)
        return self.host_rate or min(_FASTER * fastest, FASTEST)


@dataclass(frozen=True)
class PlannedNetwork:
    """Switches, hosts and links by their names in the plan, as numbers of the packet model.

    Attributes:
        forwarding: ports and addresses of its switches.
        hosts: nodes of each site's hosts.
        shaped: nodes of each site's hosts of single flows with a limit, in the order of these flows.
        links: each directed link between two switches.
        deliveries: the link from each switch to its hosts.
        arrivals: the link to each switch from its hosts.
    """

    network: Network
    forwarding: TableSwitched
    switches: Mapping[str, int]
    hosts: Mapping[str, Sequence[int]]
    shaped: Mapping[str, Sequence[int]]
    links: Mapping[Ends, int]
    deliveries: Mapping[str, int]
    arrivals: Mapping[str, int]


def planned_network(
    wiring: Wiring,
    layout: QueueLayout,
    physical: Physical,
    buckets: Mapping[str, Sequence[TokenBucket]],
    ports: CreditPorts | None = None,
) -> PlannedNetwork:
    """Return the network of a wiring's topology, with its ports and addresses.

    A site with several hosts has a router between its switch and them, so that the switch has one port for the site.
    Each of a site's `buckets` shapes what a host of its own sends. `ports` are the queues for transports by credits.

    Raises:
        UnsoundError: a delay is that of an unknown link, there are too many hosts for a site's addresses, there are not
            as many rules as queues, or a queue has a guaranteed share, which strict priority does not give.
    """
    shaped = max((len(own) for own in buckets.values()), default=0)
    _require_sound(wiring.topology, layout, physical, shaped)
    return _Builder(wiring, layout, physical, buckets, ports).network()


def _require_sound(topology: Topology, layout: QueueLayout, physical: Physical, shaped: int) -> None:
    for ends in physical.delay:
        if not topology.has_link(*ends):
            raise UnsoundError(("delay",), f"there is no link {'-'.join(ends)}", f"a link of {topology.name}")
    if not 1 <= physical.hosts <= MOST_HOSTS:
        raise UnsoundError(("hosts",), f"{physical.hosts} hosts at a site", f"1 to {MOST_HOSTS}")
    if physical.hosts + shaped > MOST_HOSTS:
        problem = f"{physical.hosts} hosts and {shaped} of flows with limits at a site"
        raise UnsoundError(("hosts",), problem, f"{MOST_HOSTS} together")
    if isinstance(physical.queue, Sequence) and len(physical.queue) != len(layout.queues):
        raise UnsoundError(("queue",), f"{len(physical.queue)} rules", f"one, or {len(layout.queues)} for the queues")
    for position, queue in enumerate(layout.queues):
        if queue.guaranteed > 0:
            problem = f"queue {quoted(queue.name)} has a guaranteed share of {exact(queue.guaranteed)}"
            raise UnsoundError(("queues", position, "guaranteed"), problem, "0: the packet model has strict priority")


class _Builder:
    def __init__(
        self,
        wiring: Wiring,
        layout: QueueLayout,
        physical: Physical,
        buckets: Mapping[str, Sequence[TokenBucket]],
        ports: CreditPorts | None,
    ) -> None:
        self._wiring, self._layout, self._physical, self._buckets = wiring, layout, physical, buckets
        self._ports = ports
        self._of_switches: dict[float, StrictPriority] = {}
        self._of_hosts: dict[float, StrictPriority] = {}
        self._topology = wiring.topology
        self._network = Network()
        self._addresses: dict[int, int] = {}
        self._out_ports: list[int] = []
        self._in_ports: list[int] = []
        rules = physical.queue if isinstance(physical.queue, Sequence) else [physical.queue] * len(layout.queues)
        self._queueing = StrictPriority(tuple(rules))
        self._host_rate = physical.rate_of_hosts(wiring.topology)

    def network(self) -> PlannedNetwork:
        switches = {name: self._network.add_switch() for name in self._topology.nodes}
        links = {}
        for link in self._topology.links:
            ports = self._wiring.port(link.source, link.target), self._wiring.port(link.target, link.source)
            delay = self._physical.delay.get(link.ends, link.delay)
            ends = switches[link.source], switches[link.target]
            links[link.ends] = self._connect(ends, ports, link.capacity, delay, self._queues(link.capacity))
        hosts, shaped, deliveries, arrivals = {}, {}, {}, {}
        for name, switch in switches.items():
            if self._wiring.has_host(name):
                found, arrivals[name], deliveries[name] = self._add_hosts(name, switch)
                hosts[name], shaped[name] = found[: self._physical.hosts], found[self._physical.hosts :]
        layout = self._layout
        marks = [each.code_points[0] if each.code_points else 0 for each in layout.classes]
        forwarding = TableSwitched(
            addresses=[self._addresses.get(node, 0) for node in range(self._network.nodes)],
            out_ports=self._out_ports,
            in_ports=self._in_ports,
            code_points=[*marks, DSCP_NETWORK_CONTROL],
            queues=[queue.queue_id for queue in layout.queues],
            other_queue=layout.queues.index(layout.default),
        )
        return PlannedNetwork(self._network, forwarding, switches, hosts, shaped, links, deliveries, arrivals)

    def _add_hosts(self, name: str, switch: int) -> tuple[list[int], int, int]:
        """Return the hosts of a site, the link from them to its switch, and the one back."""
        port, common = self._wiring.host_port(name), self._physical.hosts
        buckets = self._buckets.get(name, ())
        count = common + len(buckets)
        router = None if count == 1 else self._network.add_switch()
        hosts = [self._network.add_host() for _ in range(count)]
        self._addresses.update(zip(hosts, self._addresses_of(name), strict=False))
        if not self._addresses.keys() >= set(hosts):
            raise UnsoundError(("hosts",), f"{count} hosts", f"as many as {self._wiring.prefix(name)} has addresses")
        rate, delay = self._host_rate, self._physical.host_delay
        if router is not None:
            for host, bucket in zip(hosts, [*([None] * common), *buckets], strict=True):
                own, shaping = self._host_link(rate, bucket)
                self._connect((host, router), (0, 0), own, delay, shaping)
                self._connect((router, host), (0, 0), own, delay, None if self._ports is None else self._queues(own))
            rate, delay = min(count * rate, FASTEST), 0.0
        beside = hosts[0] if router is None else router
        arriving = self._connect((beside, switch), (0, port), rate, delay, self._host_queues(rate))
        return hosts, arriving, self._connect((switch, beside), (port, 0), rate, delay, self._queues(rate))

    def _queues(self, rate: float) -> StrictPriority:
        """Return the queues of a switch's port."""
        if self._ports is None:
            return self._queueing
        if rate not in self._of_switches:
            self._of_switches[rate] = self._ports.between_switches(rate)
        return self._of_switches[rate]

    def _host_queues(self, rate: float) -> StrictPriority | None:
        """Return the queues of a host's port, None for those of any."""
        if self._ports is None:
            return None
        if rate not in self._of_hosts:
            self._of_hosts[rate] = self._ports.of_host(rate)
        return self._of_hosts[rate]

    def _host_link(self, rate: float, bucket: TokenBucket | None) -> tuple[float, Queueing | None]:
        """Return the rate and the queues of the link of a host, which shapes its flow if it has a bucket."""
        if self._ports is not None or self._physical.limit_by_link:
            own = rate if bucket is None else min(rate, bucket.rate)
            return own, self._host_queues(own)
        return rate, None if bucket is None else Fifo(shaping=bucket)

    def _addresses_of(self, name: str) -> Iterator[int]:
        """Yield addresses for the hosts of a site, the host's own first."""
        own = first_of(Family.IPV4, self._wiring.host_addresses(name))
        if own is None:
            raise UnsoundError(("hosts",), f"{name} has no IPv4 prefix", "one: hosts of the packet model send IPv4")
        yield int(own)
        prefix = next(prefix for prefix in self._wiring.prefixes(name) if own in prefix)
        yield from (int(address) for address in prefix.hosts() if address != own)

    def _connect(
        self,
        ends: tuple[int, int],
        ports: tuple[int, int],
        rate: float,
        delay: float,
        queueing: Queueing | None = None,
    ) -> int:
        self._out_ports.append(ports[0])
        self._in_ports.append(ports[1])
        return self._network.connect(ends, rate, delay, queueing=queueing)
