"""The packet model: switches with their own tables, TCP flows, and the scheduler's own code in the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from experiments.hedera.schemes import UNSCHEDULED, PacketOptions, centre_of
from hedera.network.data_centre import ROUTE_TABLE, DataCentre
from hedera.placement.registry import make_placement
from hedera.scheduling.elephant_schedule import ElephantSchedule, Round
from hedera.scheduling.messages import COUNTER_IDLE_SECONDS
from hedera.scheduling.polling import TCP, CounterReading, FiveTuple, Polls, ScheduledEntry
from hedera.scheduling.tables import SCHEDULED_PRIORITY, Routing
from kuijia_app.proof.model.packet import Packet
from kuijia_app.proof.model.switch import ModelSwitch
from kuijia_app.tables.rules import FlowEntry, Match, SwitchTables, ToGroup
from simulator.packet.faults import with_rates
from simulator.packet.flows import ENDLESS, Flows
from simulator.packet.queues import Fifo
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import of_graph

Entries = Mapping[tuple[str, FiveTuple], ScheduledEntry]
"""The entry of a flow on a switch."""

_MOST_SLOTS = 256
_SERVER_PORT = 5001
_SENDER = 0
"""Port by which packets enter in the model: none that leads anywhere."""


class Forwarding:
    """The paths that packets of a flow take through switches with the tables of a routing; no cable is down.

    As in Open vSwitch, the hash covers addresses and ports of both ends alike, all switches have the same one, and a
    flow's acknowledgements have that of the flow.
    """

    def __init__(self, centre: DataCentre, routing: Routing, seed: int) -> None:
        self._wiring = centre.wiring
        self._seed = seed
        self._tables = routing.tables()
        self._switches = {name: _switch(name, tables) for name, tables in self._tables.items()}
        self._scheduled: dict[tuple[str, int], ModelSwitch] = {}
        links = {link.ends: number for number, link in enumerate(centre.topology.links)}
        sites = self._wiring.sites
        self._at = {site.address: (links[site.name, site.switch], site.switch) for site in sites}
        hosts = {(site.switch, site.port): site.name for site in sites}
        self._beyond: dict[tuple[str, int], tuple[int, str | None]] = {}
        for switch in self._wiring.topology.nodes:
            for port in self._wiring.ports(switch):
                neighbour = self._wiring.neighbour_at(switch, port)
                other = hosts[switch, port] if neighbour is None else neighbour
                self._beyond[switch, port] = links[switch, other], neighbour

    def path(self, flow: FiveTuple, entries: Entries) -> tuple[int, ...]:
        """Return the links from the flow's source to its target."""
        first, switch = self._at[flow.source]
        packet = Packet(_SENDER, flow.source, flow.target, slot=self.slot(flow))
        links, following = [first], str(switch)
        while True:
            port = self._out_port(following, packet, entries.get((following, flow)))
            link, neighbour = self._beyond[following, port]
            links.append(link)
            if neighbour is None:
                return tuple(links)
            following = neighbour

    def slot(self, flow: FiveTuple) -> int:
        """Return the slot of a flow, the same in both directions."""
        ends = sorted(
            int(address).to_bytes(4, "big") + port.to_bytes(2, "big")
            for address, port in ((flow.source, flow.source_port), (flow.target, flow.target_port))
        )
        seed = self._seed.to_bytes(8, "big", signed=True)
        return blake2b(b"".join(ends), digest_size=4, key=seed).digest()[0] % _MOST_SLOTS

    def _out_port(self, name: str, packet: Packet, entry: ScheduledEntry | None) -> int:
        switch = self._switches[name] if entry is None else self._scheduling(name, entry.group_id)
        ((port, _),) = switch.process(packet).sent
        return port

    def _scheduling(self, name: str, group: int) -> ModelSwitch:
        """Return the switch as packets see it that match an entry which leads to this group."""
        if (name, group) not in self._scheduled:
            ahead = FlowEntry(SCHEDULED_PRIORITY, Match(), (ToGroup(group),), ROUTE_TABLE)
            tables = self._tables[name]
            self._scheduled[name, group] = _switch(name, SwitchTables(tables.groups, (*tables.flows, ahead)))
        return self._scheduled[name, group]


def reverse_of(flow: FiveTuple) -> FiveTuple:
    """Return the flow of the acknowledgements."""
    return FiveTuple(flow.target, flow.source, flow.protocol, flow.target_port, flow.source_port)


def _switch(name: str, tables: SwitchTables) -> ModelSwitch:
    return ModelSwitch(name, tables, lambda _: True)


@dataclass(frozen=True)
class PollTiming:
    """Times of the scheduler in seconds.

    Attributes:
        period: from one poll to the next.
        message_delay: of each message between scheduler and switches, one way.
    """

    period: float
    message_delay: float


def in_rounds(simulation: Simulation, timing: PollTiming, ask: Callable[[], Any], *steps: Callable[[Any], Any]) -> None:
    """Ask from the first period on; each step gets the result of the one before, a message's delay later."""

    def pass_on(value: object, left: Sequence[Callable[[Any], Any]]) -> None:
        if left:
            first, *others = left
            simulation.at(simulation.now + timing.message_delay, lambda: pass_on(first(value), others))

    def begin() -> None:
        pass_on(ask(), steps)
        simulation.at(simulation.now + timing.period, begin)

    simulation.at(timing.period, begin)


@dataclass(frozen=True)
class Counted:
    """A flow that a switch counts.

    Attributes:
        number: of the flow in the simulation.
        started: seconds when its first packet left.
        packet: bytes of its packets on the wire.
    """

    number: int
    started: float
    packet: int


class ControlLoop:
    """Polls edge switches, runs rounds and moves flows when entries arrive, as `hedera.scheduler` does.

    A poll takes a message each way, entries another one: what a round sees is that much old, and what it decides takes
    effect that much later. The decisions themselves take no simulated time. Counters are exact when they are read;
    those of flows that send nothing expire. Pure acknowledgements, some hundredth of a flow, are not counted.

    Attributes:
        rounds: results of all rounds until now.
    """

    def __init__(
        self,
        simulation: Simulation,
        centre: DataCentre,
        forwarding: Forwarding,
        schedule: ElephantSchedule,
        timing: PollTiming,
    ) -> None:
        self.rounds: list[Round] = []
        self._simulation, self._forwarding, self._schedule = simulation, forwarding, schedule
        self._polls = Polls.every(timing.period, centre.fabric.nic_rate)
        self._edge_of = {site.address: site.switch for site in centre.wiring.sites}
        self._edges = tuple(dict.fromkeys(self._edge_of.values()))
        self._flows: dict[FiveTuple, Counted] = {}
        self._entries: dict[tuple[str, FiveTuple], ScheduledEntry] = {}
        self._paths: dict[FiveTuple, tuple[int, ...]] = {}
        self._last_sent: dict[FiveTuple, tuple[int, float]] = {}
        in_rounds(simulation, timing, self._ask, self._read, self._place, self._apply)

    def count(self, flow: FiveTuple, counted: Counted, path: tuple[int, ...]) -> None:
        """Count a flow from now on, which begins on this path."""
        self._flows[flow] = counted
        self._paths[flow] = path

    def _ask(self) -> list[str]:
        return [switch for switch in self._edges if self._polls.ask(switch, self._simulation.now)]

    def _read(self, asked: Sequence[str]) -> dict[str, list[CounterReading]]:
        now = self._simulation.now
        sent = self._simulation.flow_counters()["sent"]
        answers: dict[str, list[CounterReading]] = {switch: [] for switch in asked}
        for flow, counted in self._flows.items():
            edge = self._edge_of[flow.source]
            if edge not in answers or counted.started > now:
                continue
            packets = int(sent[counted.number])
            before, since = self._last_sent.get(flow, (-1, now))
            if packets != before:
                self._last_sent[flow] = packets, now
            elif now - since > COUNTER_IDLE_SECONDS:
                continue
            answers[edge].append(CounterReading(flow, packets * counted.packet, now - counted.started))
        return answers

    def _place(self, answers: dict[str, list[CounterReading]]) -> Round:
        for switch, readings in answers.items():
            self._polls.answered(switch, self._simulation.now, readings, more=False)
        found = self._schedule.run(self._polls.rates())
        self.rounds.append(found)
        return found

    def _apply(self, found: Round) -> None:
        """Change the entries of switches, and the paths of the flows that these entries are for."""
        for entry in found.deleted:
            if self._entries.get((entry.switch, entry.flow)) == entry:
                del self._entries[entry.switch, entry.flow]
        self._entries.update(((entry.switch, entry.flow), entry) for entry in found.put)
        for flow in dict.fromkeys(entry.flow for entry in (*found.deleted, *found.put)):
            path = self._forwarding.path(flow, self._entries)
            if path != self._paths[flow]:
                self._paths[flow] = path
                back = self._forwarding.path(reverse_of(flow), {})
                self._simulation.move(self._flows[flow].number, (path, back))


class PacketNetwork:
    """The network of a scheme, and the flows that have been added to it.

    Attributes:
        keys: of the flows, in the order of their numbers.
        loop: the scheduler; None without one.
    """

    def __init__(
        self, scheme: str, ports: int, nic_rate: float, period: float, options: PacketOptions, seed: int
    ) -> None:
        centre = centre_of(scheme, ports, nic_rate)
        sites = centre.wiring.sites
        names = [site.name for site in sites]
        queueing = Fifo(limit=round(1000 * options.buffer))
        hosts = np.flatnonzero(~centre.fabric.inner).tolist()
        network = with_rates(
            of_graph(centre.topology, names, queueing, delay=1e-6 * options.delay),
            dict.fromkeys(hosts, options.host_part * nic_rate),
        )
        routing = Routing(centre)
        self.simulation = Simulation(network, [], Setting(seed=seed))
        self.keys: list[FiveTuple] = []
        self.loop: ControlLoop | None = None
        self._addresses = [site.address for site in sites]
        self._transport = options.transport
        self._forwarding = Forwarding(centre, routing, seed)
        if scheme not in UNSCHEDULED:
            schedule = ElephantSchedule(centre, make_placement(scheme), routing)
            timing = PollTiming(period, 1e-3 * options.message_delay)
            self.loop = ControlLoop(self.simulation, centre, self._forwarding, schedule, timing)

    def add(
        self, ends: Sequence[tuple[int, int]], ports: Sequence[int], starts: Sequence[float], size: int = ENDLESS
    ) -> range:
        """Add flows between hosts, each with its source port and start in seconds; return their numbers."""
        keys = [
            FiveTuple(self._addresses[source], self._addresses[target], TCP, port, _SERVER_PORT)
            for (source, target), port in zip(ends, ports, strict=True)
        ]
        ways = [(self._forwarding.path(key, {}), self._forwarding.path(reverse_of(key), {})) for key in keys]
        source, target = np.array(ends, np.int64).reshape(-1, 2).T
        flows = Flows.of(source, target, self._transport, size=size, start=starts, paths=ways)
        numbers = self.simulation.add_flows(flows)
        self.keys += keys
        if self.loop is not None:
            for number, key, (way, _), start in zip(numbers, keys, ways, starts, strict=True):
                self.loop.count(key, Counted(number, start, self._transport.largest_packet), way)
        return numbers

    def counts(self) -> dict[str, int]:
        """Return the packets of all flows, the rounds of the scheduler, and how often it moved a flow."""
        rounds = [] if self.loop is None else self.loop.rounds
        return {
            **packet_counts(self.simulation),
            "moved": sum(each.moved for each in rounds),
            "rounds": len(rounds),
        }

    def label_of(self, ends: tuple[int, int], port: int, labels: Sequence[tuple[int, ...]]) -> int:
        """Return the first of these paths, given by label, on which the hash sends a flow."""
        source, target = (self._addresses[host] for host in ends)
        return labels.index(self._forwarding.path(FiveTuple(source, target, TCP, port, _SERVER_PORT), {}))


def packet_counts(simulation: Simulation) -> dict[str, int]:
    """Return the packets that all flows have sent and lost, and their timeouts."""
    results = simulation.flow_results()
    return {name: int(getattr(results, name).sum()) for name in ("sent", "dropped", "timeouts")}
