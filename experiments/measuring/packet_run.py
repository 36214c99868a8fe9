"""Measures one link failure in the packet simulator: a plan's compiled tables and transports around the cut."""

from __future__ import annotations

import argparse
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.measuring.failure_run import Failing, Phases, WantedFlow, roles_of
from experiments.measuring.load import MachineLoad
from experiments.measuring.packet_options import BUFFER_PACKETS, DETECTION_SECONDS, Notice
from experiments.results.result import FlowResult, Series
from kuijia_app.tables.bfd import multiplier_at
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.slots import cut_slots
from kuijia_base.errors import InputError
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.transports import Congestion, ConstantRate, Packets, Tcp
from simulator.planned.events import Bfd, Cut, Timing, controller_at
from simulator.planned.network import Physical
from simulator.planned.run import PlanResults, PlanRun, Windows
from simulator.planned.traffic import SiteFlows
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology

_EVERY = 10.0
"""Seconds between two packets, so that each is alone in the network."""

_PACKET = 1000


@dataclass(frozen=True)
class Sighting:
    """Nodes that a flow's packets visit before and after a cut, and whether they wait among victims after it.

    None if a packet was lost.
    """

    before: tuple[str, ...] | None
    after: tuple[str, ...] | None
    low_after: bool | None


def sightings(
    plan: Plan, options: PipelineOptions, flows: Sequence[WantedFlow], slots: Sequence[int], link: tuple[str, str]
) -> list[Sighting]:
    """Return what is seen of each flow, which has the hash slot at its place in `slots`, around a cut of `link`."""
    count = len(flows)
    sizes = np.full(2, _PACKET)
    traffic = [
        SiteFlows.of(
            [(flow.source, flow.target)],
            Packets(np.array([number, count + 0.5 + number]) * _EVERY, sizes),
            slot=slot,
            priority=flow.priority,
        )
        for number, (flow, slot) in enumerate(zip(flows, slots, strict=True))
    ]
    run = PlanRun(plan, options, traffic, events=[Cut((count - 0.5) * _EVERY, link)])
    results = run.run((2 * count + 1) * _EVERY, window=_EVERY)
    victims = {each.victim.name for each in options.layout.classes}
    found = []
    for number, flow in enumerate(flows):
        before, _ = way_taken(results, number, flow.source)
        after, queues = way_taken(results, count + number, flow.source)
        found.append(Sighting(before, after, None if after is None else not victims.isdisjoint(queues)))
    return found


def way_taken(results: PlanResults, window: int, source: str) -> tuple[tuple[str, ...] | None, Collection[str]]:
    """Return the nodes of the only way that packets from a source took in a window, and the queues on it.

    The nodes are None if no packet crossed a link, or if the links in use make no single way.
    """
    return _way(source, _links_used(results, window))


def _links_used(results: PlanResults, window: int) -> dict[tuple[str, str], str]:
    """Return the queue of each link between switches that sent something in a window."""
    places = zip(*np.nonzero(results.windows.queue_sent[window]), strict=True)
    used = {results.outputs[output]: results.queues[queue] for output, queue in places}
    return {ends: queue for ends, queue in used.items() if ends[0] != ends[1]}


def _way(source: str, links: Mapping[tuple[str, str], str]) -> tuple[tuple[str, ...] | None, Collection[str]]:
    """Return the nodes of the way that these links make, and the queues on it; None if they are not one way."""
    following = dict(links.keys())
    nodes = [source]
    while nodes[-1] in following and len(nodes) <= len(links):
        nodes.append(following[nodes[-1]])
    return (tuple(nodes) if len(nodes) == len(links) + 1 and links else None), set(links.values())


NO_LOAD = MachineLoad(idle=1.0, steal=0.0, softirq=0.0, switch=None, switch_waiting=None, unread=None)
"""Load of a machine that nothing waits for."""


def delayed(plan: Plan, notice: Notice) -> Plan:
    """Return the plan on links with the delay of the conditions."""
    links = tuple(replace(link, delay=notice.link_delay) for link in plan.topology.links)
    return replace(plan, topology=replace(plan.topology, links=links))


def timing_of(notice: Notice, topology: Topology, bfd_interval_ms: int | None = None) -> Timing:
    """Return who notices after how long, with BFD packets at this interval."""
    bfd = Bfd()
    if bfd_interval_ms is not None:
        bfd = Bfd(interval=bfd_interval_ms / 1000, multiplier=multiplier_at(bfd_interval_ms))
    told = 0.0 if notice.controller is None else controller_at(topology, notice.controller)
    return Timing(notice.detection, told, notice.reaction, bfd=bfd)


def longest_message(timing: Timing, topology: Topology) -> float:
    """Return the seconds that the controller's message to the farthest switch takes."""
    return max(timing.to_controller(switch) for switch in topology.nodes)


def physical_of(notice: Notice) -> Physical:
    return Physical(queue=Fifo(notice.buffer_packets * FRAME))


def told_of(notice: Notice) -> str:
    """Return the conditions in a sentence."""
    where = "at once" if notice.controller is None else f"at {notice.controller} along the links"
    thinks = f", which answers after {1000 * notice.reaction:g} ms" if notice.reaction else ""
    return (
        f"Packet simulator, not measured: queues of {notice.buffer_packets} packets, {1000 * notice.link_delay:g} ms of"
        f" delay on each link, failures noticed after {1000 * notice.detection:g} ms by the switches beside them, who"
        f" tell the controller {where}{thinks}."
    )


FRAME, TCP_PAYLOAD, UDP_PAYLOAD = 1518, 1448, 1472
"""Bytes on the wire of a full frame with a label, and of its payload: as on the emulated switches."""

CATCH_UP_PACKETS = 164
"""Packets that a flow of a whole link may catch up with at once: the emulation's 0.1 s of 20 Mbit/s."""

TRANSPORTS = tuple(each.value for each in Congestion)

_ECN_PACKETS = 20
"""Packets in a queue from which DCTCP's are marked: K of its authors at 1 Gbit/s (Alizadeh et al., SIGCOMM 2010)."""

_START_PACKETS = 10
"""Intervals between packets in which flows begin at random."""


@dataclass(frozen=True)
class PacketConditions:
    """Conditions that the paper leaves open: TCP's congestion control, packets of a queue, delays, time of notice.

    With `random_drop` a full queue drops a waiting packet or the new one, by chance, where flows are UDP. It stands for
    the jitter of hosts: without any, packets at equal intervals find a full queue always or never.

    Each link, and each host that shapes a flow, has a clock of its own. It is fast or slow by up to `clock_ppm` parts
    per million, drawn at random. Ethernet allows 100.
    """

    transport: str = Congestion.CUBIC.value
    buffer_packets: int = BUFFER_PACKETS
    link_delay_seconds: float = 0.0
    detection_seconds: float = DETECTION_SECONDS
    random_drop: bool = True
    clock_ppm: float = 0.0

    @property
    def tcp(self) -> Tcp:
        """The hosts' TCP: Linux's segments with time stamps, and an acknowledgement for two of them."""
        return Tcp(Congestion(self.transport), payload=TCP_PAYLOAD, header=FRAME - TCP_PAYLOAD, ack_every=2)


def conditions_from(args: argparse.Namespace) -> PacketConditions:
    """Return the conditions that the options of Tables 2 and 3 give.

    Raises:
        InputError: the simulator has no such congestion control.
    """
    name = args.congestion_control
    if name not in TRANSPORTS:
        expected = f"one of {', '.join(TRANSPORTS)}"
        raise InputError("option", "--congestion-control", f"{name} is not in the simulator", expected)
    buffer, delay = args.buffer_packets or BUFFER_PACKETS, args.link_delay_seconds or 0.0
    return PacketConditions(name, buffer, delay, clock_ppm=args.clock_ppm)


def simulate(run: Failing, conditions: PacketConditions, phases: Phases) -> tuple[FlowResult, ...]:
    """Return the flows' goodput around the cut, with the tunnels and queues that a probe of each flow was seen in."""
    slots = [slot_of(run, number) for number in range(len(run.flows))]
    timing = Timing(port=conditions.detection_seconds)
    physical = _physical(run, conditions)
    clocks = _Clocks(conditions.clock_ppm, run.seed)
    traffic = _traffic(run, conditions, slots, clocks)
    plan = clocks.with_own_rates(run.plan)
    played = PlanRun(plan, run.options, traffic, physical, timing, [Cut(phases.cut, run.link)], run.seed)
    before, after = phases.windows
    ends = (before.start, before.end, after.start, after.end)
    parts = [played.run(end, window=phases.interval).windows for end in ends]
    seen = sightings(run.plan, run.options, run.flows, slots, run.link)
    role = roles_of(run.flows, run.link)
    payload = 1.0 if run.protocol == "tcp" else UDP_PAYLOAD / FRAME
    edges = np.concatenate([part.edges[:-1] for part in parts] + [parts[-1].edges[-1:]]).round(6).tolist()
    series = np.concatenate([part.goodput_rates for part in parts]) * payload
    return tuple(
        FlowResult(
            name=flow.name,
            role=role[flow.name],
            protocol=run.protocol,
            source=flow.source,
            target=flow.target,
            offered=flow.offered,
            before=_mean(parts[1], number) * payload,
            after=_mean(parts[3], number) * payload,
            tunnel_before=seen[number].before,
            tunnel_after=seen[number].after,
            low_after=seen[number].low_after,
            series=Series(tuple(edges[:-1]), tuple(edges[1:]), tuple(series[:, number].round(3).tolist())),
            priority=flow.priority,
            sent=_sent(parts[3], number) if run.protocol == "udp" else None,
        )
        for number, flow in enumerate(run.flows)
    )


def _mean(windows: Windows, flow: int) -> float:
    return float(windows.goodput[:, flow].sum() * 8e-6 / (windows.edges[-1] - windows.edges[0]))


def _sent(windows: Windows, flow: int) -> float:
    return float(windows.sent[:, flow].sum() * UDP_PAYLOAD * 8e-6 / (windows.edges[-1] - windows.edges[0]))


def slot_of(run: Failing, number: int) -> int:
    """Return a hash slot whose packets the ingress sends over the flow's tunnels.

    If the tunnel that a slot is promised to fails too, the slot goes where the ingress sends such slots: to the alive
    tunnel of greatest weight.

    Raises:
        InputError: with so few slots none leads there.
    """
    flow = run.flows[number]
    ends = flow.source, flow.target, flow.priority
    tunnels = next(each.tunnels for each in run.plan.pairs if (each.source, each.target, each.priority) == ends)
    alive = [place for place, tunnel in enumerate(tunnels) if not tunnel.crosses(*run.link)]
    heaviest = max(alive, key=lambda place: tunnels[place].weight)
    primary, backup = tunnels.index(flow.tunnel), tunnels.index(flow.backup)
    table = cut_slots([tunnel.weight for tunnel in tunnels], run.options.slot_count)
    fitting = [
        place
        for place, slot in enumerate(table.slots)
        if slot.primary == primary
        and (primary in alive or (slot.backup if slot.backup in alive else heaviest) == backup)
    ]
    if not fitting:
        raise InputError(
            "option", "--slots", f"none of {run.options.slot_count} slots is for {flow.name}", "more slots"
        )
    return fitting[number % len(fitting)]


def _physical(run: Failing, conditions: PacketConditions) -> Physical:
    delay = {link.ends: conditions.link_delay_seconds for link in run.plan.topology.links}
    marks = conditions.transport == Congestion.DCTCP.value
    marking = Threshold(min(_ECN_PACKETS, conditions.buffer_packets) * FRAME) if marks else None
    by_chance = conditions.random_drop and run.protocol == "udp"
    return Physical(delay, Fifo(conditions.buffer_packets * FRAME, marking, by_chance))


class _Clocks:
    """Clocks that differ a little: without them, a host or link at the rate of the next one always finds a place there.

    The place is that of the packet which has just left, so a full queue takes packets of nobody else.
    """

    def __init__(self, ppm: float, seed: int) -> None:
        self._ppm, self._chance = ppm, random.Random(f"clocks {seed}")

    def drawn(self, rate: float) -> float:
        """Return the rate by the clock of another host or link."""
        return rate * (1 + 1e-6 * self._ppm * self._chance.uniform(-1, 1))

    def with_own_rates(self, plan: Plan) -> Plan:
        """Return the plan over links that each have the rate of their own clock."""
        if not self._ppm:
            return plan
        links = tuple(replace(link, capacity=self.drawn(link.capacity)) for link in plan.topology.links)
        return replace(plan, topology=replace(plan.topology, links=links))


def _traffic(run: Failing, conditions: PacketConditions, slots: Sequence[int], clocks: _Clocks) -> list[SiteFlows]:
    """Return a group for each flow; they start at random, as UDP packets at equal intervals never meet otherwise."""
    chance = random.Random(run.seed)
    capacity = max(link.capacity for link in run.plan.topology.links)
    groups = []
    for flow, slot in zip(run.flows, slots, strict=True):
        udp = run.protocol == "udp"
        rate = clocks.drawn(flow.offered)
        groups.append(
            SiteFlows.of(
                [(flow.source, flow.target)],
                ConstantRate(rate, FRAME) if udp else conditions.tcp,
                start=chance.uniform(0, _START_PACKETS * FRAME * 8e-6 / flow.offered),
                slot=slot,
                priority=flow.priority,
                limit=0.0 if udp else rate,
                catch_up=CATCH_UP_PACKETS * FRAME * 8e-6 / capacity,
            )
        )
    return groups
