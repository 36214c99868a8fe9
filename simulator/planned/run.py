"""A plan in the packet model: traffic over its compiled tables while cables fail and plans are replaced.

```python
traffic = [SiteFlows.of([("1", "5")] * 20, Tcp())]
run = PlanRun(plan, PipelineOptions(scheme=KUIJIA), traffic, events=[Cut(10.0, ("1", "3"))])
results = run.run(35.0, window=1.0)
results.windows.goodput_rates  # Mbit/s of each flow in each second
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kuijia_app.control.rollout import Version
from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.classifiers import NO_CLASSIFIERS
from kuijia_app.tables.options import Liveness, PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import SwitchTables
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import InputError, UnsoundError, quoted
from simulator.packet.load_balancing import LoadBalancer
from simulator.packet.queues import TokenBucket
from simulator.packet.results import FlowResults, LinkResults, Totals
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Progress, Simulation
from simulator.planned.controller import BfdWatch, SimulatedController, Switches
from simulator.planned.events import Cut, CutNode, Event, Heal, HealNode, Replace, Timing
from simulator.planned.network import (
    DATA_CLASS,
    CreditPorts,
    Physical,
    PlannedNetwork,
    in_credit_classes,
    is_credited,
    planned_network,
    waiting,
    with_credits,
)
from simulator.planned.traffic import FlowPlacer, SiteFlows
from te_solver.model.plan import Plan


@dataclass(frozen=True, eq=False)
class Windows:
    """Counts of F flows, and of Q queues at each of L outputs, in W windows.

    Attributes:
        edges: seconds at which windows begin, and the last one ends, shape (W + 1,).
        goodput: bytes as in `FlowResults`, shape (W, F).
        sent, arrived, dropped: data packets, by queues, links and tables, shape (W, F).
        reordered: as in `FlowResults`, shape (W, F).
        queue_sent: bytes, shape (W, L, Q).
        queue_dropped: packets dropped for lack of room, shape (W, L, Q).
        link_lost: packets that came to a failed link, were on it, or were not forwarded after it, shape (W, L).
    """

    edges: NDArray[np.float64]
    goodput: NDArray[np.int64]
    sent: NDArray[np.int64]
    arrived: NDArray[np.int64]
    dropped: NDArray[np.int64]
    reordered: NDArray[np.int64]
    queue_sent: NDArray[np.int64]
    queue_dropped: NDArray[np.int64]
    link_lost: NDArray[np.int64]

    @property
    def goodput_rates(self) -> NDArray[np.float64]:
        """Goodput in Mbit/s, shape (W, F)."""
        return self.goodput * 8e-6 / np.diff(self.edges)[:, np.newaxis]

    @property
    def losses(self) -> NDArray[np.float64]:
        """Share of the packets sent or dropped in a window that was dropped, shape (W, F); 0 without any."""
        return self.dropped / np.maximum(np.maximum(self.sent, self.dropped), 1)

    @property
    def queue_rates(self) -> NDArray[np.float64]:
        """Mbit/s that each queue has sent, shape (W, L, Q)."""
        return self.queue_sent * 8e-6 / np.diff(self.edges)[:, np.newaxis, np.newaxis]


@dataclass(frozen=True, eq=False)
class PlanResults:
    """The results of a run until now.

    Attributes:
        windows: counts by window of time.
        outputs: switch and neighbour of each of the L outputs; the neighbour is the switch itself for its hosts.
        queues: names of the Q queues, in the order of service.
        flows, links, totals: of the packet model.
        progress: time in seconds, name of a change of plan, and its state: live, done or refused.
        damped: time in seconds, switch and port: the controller begins to hold a flapping port down.
    """

    windows: Windows
    outputs: Sequence[tuple[str, str]]
    queues: Sequence[str]
    flows: FlowResults
    links: LinkResults
    totals: Totals
    progress: Sequence[tuple[float, str, str]]
    damped: Sequence[tuple[float, str, int]]

    def output(self, switch: str, neighbour: str) -> int:
        """Return the place of an output among the L; raises ValueError if there is none."""
        return list(self.outputs).index((switch, neighbour))


Fault = Cut | Heal | CutNode | HealNode


class Faults:
    """Cables that are cut and switches that have failed; a cable works while neither it nor its ends have failed.

    `detection` seconds after a cable's change, the switches at its ends count their ports as down or up.
    """

    def __init__(
        self,
        simulation: Simulation,
        network: PlannedNetwork,
        wiring: Wiring,
        controller: SimulatedController,
        bfd: BfdWatch,
        detection: float,
    ) -> None:
        self._simulation, self._network, self._wiring = simulation, network, wiring
        self._controller, self._bfd, self._detection = controller, bfd, detection
        self._cut: set[frozenset[str]] = set()
        self._failed: set[str] = set()

    def require_known(self, fault: Fault) -> None:
        """Raise UnsoundError if the network has no such cable or switch."""
        topology = self._wiring.topology
        if isinstance(fault, CutNode | HealNode):
            if not topology.has_node(fault.node):
                problem = f"there is no node {quoted(fault.node)}"
                raise UnsoundError(("events",), problem, f"a node of {topology.name}")
            return
        a, b = fault.edge
        if not (topology.has_link(a, b) or topology.has_link(b, a)):
            raise UnsoundError(("events",), f"there is no link {a}-{b}", f"a link of {topology.name}")

    def happen(self, fault: Fault) -> None:
        """Let something fail or work again now; nothing happens if it is so already."""
        if isinstance(fault, Cut | Heal):
            edge = frozenset(fault.edge)
            was_up = self._is_up(edge)
            (self._cut.add if isinstance(fault, Cut) else self._cut.discard)(edge)
            if self._is_up(edge) != was_up:
                self._change(edge, up=not was_up)
        elif isinstance(fault, CutNode) and fault.node not in self._failed:
            working = [edge for edge in self._edges_of(fault.node) if self._is_up(edge)]
            self._failed.add(fault.node)
            self._controller.switch_left(fault.node)
            self._change_hosts(fault.node, up=False)
            for edge in working:
                self._change(edge, up=False)
        elif isinstance(fault, HealNode) and fault.node in self._failed:
            self._failed.discard(fault.node)
            self._change_hosts(fault.node, up=True)
            for edge in self._edges_of(fault.node):
                if self._is_up(edge):
                    self._change(edge, up=True)
                else:
                    self._notice_later(edge, up=False)  # it may have been cut while the switch could not see it
            self._controller.switch_returned(fault.node)

    def _edges_of(self, node: str) -> Iterator[frozenset[str]]:
        yield from (frozenset((node, neighbour)) for neighbour in self._wiring.topology.neighbours[node])

    def _is_up(self, edge: frozenset[str]) -> bool:
        return edge not in self._cut and self._failed.isdisjoint(edge)

    def _change(self, edge: frozenset[str], *, up: bool) -> None:
        a, b = sorted(edge)
        for ends in ((a, b), (b, a)):
            if ends in self._network.links:
                self._set_link(self._network.links[ends], up=up)
        (self._bfd.heal if up else self._bfd.cut)(edge)
        self._notice_later(edge, up=up)

    def _change_hosts(self, node: str, *, up: bool) -> None:
        for links in (self._network.arrivals, self._network.deliveries):
            if node in links:
                self._set_link(links[node], up=up)

    def _set_link(self, link: int, *, up: bool) -> None:
        (self._simulation.heal if up else self._simulation.fail)(link, known=False)

    def _notice_later(self, edge: frozenset[str], *, up: bool) -> None:
        self._simulation.at(self._simulation.now + self._detection, partial(self._notice, edge, up=up))

    def _notice(self, edge: frozenset[str], *, up: bool) -> None:
        """Let the switches at both ends of a cable see its state, unless that has changed again."""
        if up != self._is_up(edge):
            return
        for switch in sorted(edge - self._failed):
            (neighbour,) = edge - {switch}
            port = self._wiring.port(switch, neighbour)
            self._simulation.set_port(self._network.switches[switch], port, live=up)
            self._controller.port_changed(switch, port, live=up)


_FLOW_COUNTS = ("goodput", "sent", "arrived", "dropped", "reordered")


@dataclass
class PlanRun:
    """A plan, its traffic and the events of a run; `simulation` is the packet model's, for what is not here.

    Attributes:
        plan: the plan in force at the beginning.
        options: of its tables: failure scheme, slots, queue layout (without classifiers), liveness and others.
        traffic: flows between its sites, numbered through all groups.
        timing: delays of detection and of the controller.
        events: failures, repairs and changes of plan, in any order.
        tables: of the switches instead of those compiled from the plan.

    Raises:
        InputError: the controller would change the scheme's ranges after a failure, which the simulated one does not.
        UnsoundError: a part does not fit the plan; the message says why.
    """

    plan: Plan
    options: PipelineOptions
    traffic: Sequence[SiteFlows]
    physical: Physical = field(default_factory=Physical)
    timing: Timing = field(default_factory=Timing)
    events: Sequence[Event] = ()
    seed: int = 1
    tables: Mapping[str, SwitchTables] | None = None

    def __post_init__(self) -> None:
        # A packet of the model has a class already, no ports to classify it by, and no tag of its site.
        wiring = self.options.wiring
        self.options = replace(self.options, wiring=None if wiring is None else wiring.untagged)
        self.options = replace(self.options, layout=replace(self.options.layout, classifiers=NO_CLASSIFIERS))
        scheme = self.options.scheme
        if not scheme.is_precut:
            raise InputError("scheme", scheme.name, "is not simulated packet by packet", "another, or another backend")
        topology = self.plan.topology
        self.timing.require_sound(topology)
        self._ports = self._prepare_credits()
        self._wiring = self.options.wired(topology)
        buckets: dict[str, list[TokenBucket]] = {}
        for site, bucket in (each for group in self.traffic for each in group.buckets()):
            buckets.setdefault(site, []).append(bucket)
        self.network = planned_network(self._wiring, self.options.layout, self.physical, buckets, self._ports)
        placement = FlowPlacer(self.plan, self.options, self.network)
        flows = [placement.flows(group) for group in self.traffic]
        balancer = LoadBalancer("by the tables of a plan", self.network.forwarding)
        self.simulation = Simulation(self.network.network, flows, Setting(self.seed, load_balancer=balancer))
        if self.traffic:
            self.simulation.set_slots(0, np.concatenate([placement.slots(group) for group in self.traffic]))
        tables = self.tables or build_tables(self.plan, self.options)
        switches = Switches(self.simulation, self.network, tables)
        version = Version("first", self.plan, tables)
        self._controller = SimulatedController(self.simulation, switches, version, self.options, self.timing)
        delays = {link.ends: self.physical.delay.get(link.ends, link.delay) for link in topology.links}
        self._bfd = BfdWatch(self.simulation, self.network, delays, self.timing.bfd, self.seed)
        self._follow_sessions()
        self._faults = Faults(
            self.simulation, self.network, self._wiring, self._controller, self._bfd, self.timing.port
        )
        self._counts: list[tuple[float, dict[str, NDArray[np.int64]]]] = []
        for event in self.events:
            self.schedule(event)

    def run(self, until: float, *, window: float | None = None, progress: Progress | None = None) -> PlanResults:
        """Run to `until` seconds, and return the results; windows of `window` seconds begin now, by default one.

        Raises:
            KeyboardInterrupt: the user pressed Ctrl-C; counts of a part of the time would pass for those of all.
        """
        begin = self.simulation.now
        count = 1 if window is None else max(1, int(np.ceil((until - begin) / window - 1e-9)))
        self._counts = []
        self._count()
        for number in range(1, count):
            self.simulation.at(begin + number * (window or 0.0), self._count)
        self.simulation.complete(until, progress)
        self._count()
        return self._results()

    def _prepare_credits(self) -> CreditPorts | None:
        """Give transports by credits their classes of traffic and times; return the queues that they need."""
        transports = [group.transport for group in self.traffic]
        if not is_credited(transports):
            return None
        physical, topology = self.physical, self.plan.topology
        ports = CreditPorts.of(transports, physical.victim_credits, physical.buffer)
        self.options = with_credits(self.options, physical.victim_credits)
        self.plan = in_credit_classes(self.plan)
        delayed = [replace(link, delay=physical.delay.get(link.ends, link.delay)) for link in topology.links]
        used = [self.plan, *(event.plan for event in self.events if isinstance(event, Replace))]
        plans = [replace(plan, topology=replace(topology, links=tuple(delayed))) for plan in used]
        limits = [limit for group in self.traffic for limit in group.limit.tolist() if limit > 0]
        host = min([physical.rate_of_hosts(topology), *limits]), physical.host_delay
        self.traffic = [
            replace(
                group,
                transport=waiting(group.transport, plans, ports, host),
                priority=group.priority + DATA_CLASS,
            )
            for group in self.traffic
        ]
        return ports

    def schedule(self, event: Event) -> None:
        """Let an event happen at its time, which is now or later.

        Raises:
            UnsoundError: its time is in the past, or the network has no such cable or switch.
        """
        if isinstance(event, Replace):
            self.simulation.at(event.time, partial(self._replace, event.plan))
            return
        self._faults.require_known(event)
        self.simulation.at(event.time, partial(self._faults.happen, event))

    def _replace(self, plan: Plan) -> None:
        self._controller.replace(plan if self._ports is None else in_credit_classes(plan))
        self._follow_sessions()

    def _follow_sessions(self) -> None:
        if self.options.liveness is Liveness.BFD:
            for plan in self._controller.plans:
                self._bfd.follow(BfdSessions(plan))

    def _count(self) -> None:
        flows, links = self.simulation.flow_counters(), self.simulation.port_counters()
        queues = self.simulation.queue_counters(len(self.options.layout.queues))
        counts = {name: flows[name].astype(np.int64) for name in _FLOW_COUNTS}
        counts["queue_sent"] = queues.sent_bytes.astype(np.int64)
        counts["queue_dropped"] = queues.dropped_packets.astype(np.int64)
        counts["link_lost"] = links["lost_packets"].astype(np.int64)
        self._counts.append((self.simulation.now, counts))

    def _results(self) -> PlanResults:
        outputs = dict(self.network.links)
        outputs |= {(switch, switch): link for switch, link in self.network.deliveries.items()}
        places = np.array(list(outputs.values()), np.int64)
        changes = {
            name: np.array([after[name] - before[name] for (_, before), (_, after) in pairwise(self._counts)])
            for name in self._counts[0][1]
        }
        for name in ("queue_sent", "queue_dropped", "link_lost"):
            changes[name] = changes[name][:, places]
        windows = Windows(np.array([time for time, _ in self._counts]), **changes)
        simulation = self.simulation
        return PlanResults(
            windows,
            tuple(outputs),
            tuple(queue.name for queue in self.options.layout.queues),
            simulation.flow_results(),
            simulation.link_results(),
            simulation.totals(),
            tuple((time, each.name, each.state) for time, each in self._controller.progress),
            tuple(self._controller.damped),
        )
