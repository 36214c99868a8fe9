"""Conversion of networks, flows and settings to the plain arrays, and of rules to the classes, that the core takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from simulator.packet import _core
from simulator.packet.credited import Credited
from simulator.packet.faults import SwitchFault, fault_columns
from simulator.packet.flows import Flows
from simulator.packet.load_balancing import LoadBalancer, TableSwitched
from simulator.packet.network import Network
from simulator.packet.queues import Queueing, StrictPriority
from simulator.packet.round_trips import ready_transports
from simulator.packet.routing import RouteTable
from simulator.packet.units import LONGEST, bits_per_second, picoseconds


def core_rules(rules: object) -> _core.Rules:
    """Return the core's form of a data class, and of those in its fields; units become the core's.

    Raises:
        UnsoundError: a time or a rate cannot be simulated.
    """
    kind: type[_core.Rules] = getattr(_core, type(rules).__name__)
    return kind(**{name: _handed_over(getattr(rules, name), unit) for name, unit in kind.units().items()})


def _handed_over(value: object, unit: str) -> object:
    if is_dataclass(value):
        return core_rules(value)
    if isinstance(value, Enum):
        return value.name
    if unit == "seconds":
        times = picoseconds(value)  # type: ignore[arg-type]  # the core's unit says that it is a time or an array of them
        return times if times.ndim else int(times)
    if unit == "Mbit/s" and not isinstance(value, Sequence):
        return bits_per_second(value)  # type: ignore[arg-type]  # the core's unit says that it is a rate
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_handed_over(each, unit) for each in value]
    return value


@dataclass(frozen=True)
class Outage:
    """The failure of a link in one direction.

    Attributes:
        link: the number of the link.
        fails: time of the failure in seconds.
        detected: seconds from the failure until flows are routed around the link.
        heals: time of the repair in seconds; infinite for never. The link is used again `detected` later.
    """

    link: int
    fails: float
    detected: float = 0.0
    heals: float = float("inf")


@dataclass(frozen=True)
class Setting:
    """Settings of a simulation in addition to network and traffic.

    Attributes:
        seed: the seed of all randomness: hashes of flows, random drops, the order of simultaneous events.
        probed: links whose queues are sampled regularly.
        probe_every: seconds between two samples.
        faults: faults of switches that routing does not notice.
        own_streams: each flow's transport draws from its own stream of random numbers, not all from one.
        threads: that do the run, each some parts of the network, with the same results. Several need long links
            between the parts, and nothing that these share.
    """

    seed: int = 1
    outages: Sequence[Outage] = ()
    probed: Sequence[int] = ()
    probe_every: float = LONGEST
    load_balancer: LoadBalancer = field(default_factory=LoadBalancer)
    faults: Sequence[SwitchFault] = ()
    own_streams: bool = False
    threads: int = 1


def core_scenario(network: Network, groups: Sequence[Flows], setting: Setting) -> tuple[_core.Scenario, RouteTable]:
    """Return the core's form of a scenario, and the paths of its flows; flows are numbered through all groups.

    Raises:
        UnsoundError: the scenario is invalid; the message says why.
        NoPathError: a flow has no path to its target.
    """
    check_sizes(network, groups, by_tables=isinstance(setting.load_balancer.forwarding, TableSwitched))
    scenario = _core.Scenario(setting.seed, network.nodes, setting.own_streams)
    _set_links(scenario, network)
    table = _set_flows(scenario, network, groups, setting)
    drops, holes = fault_columns(network, setting.faults)
    scenario.set_random_drops(**drops)
    scenario.set_black_holes(**holes)
    scenario.set_probes(list(setting.probed), int(picoseconds(setting.probe_every)))
    return scenario, table


def check_sizes(network: Network, groups: Sequence[Flows], *, by_tables: bool = False) -> None:
    """Require that the largest packet fits into every queue; otherwise its flow would never get through.

    If tables choose queues (`by_tables`), it need only fit into one of each port's.
    """
    for transport in {id(group.transport): group.transport for group in groups}.values():
        levels = transport.largest_by_level.items() if isinstance(transport, Credited) else ()
        needs = tuple(levels) or ((None, transport.largest_packet),)
        for number, link in enumerate(network.links):
            for level, size in needs:
                if (limit := _largest_room(link.queueing) if by_tables else _room(link.queueing, level)) < size:
                    where = ("links", number, "queueing")
                    raise UnsoundError(where, f"its limit of {limit} bytes is less than a packet", f"{size} or more")


def _room(queueing: Queueing, level: int | None) -> int:
    """Return the bytes of the largest packet of this level that fits, or of any level if it is None."""
    if level is not None and isinstance(queueing, StrictPriority):
        return queueing.queues[min(level, len(queueing.queues) - 1)].smallest_limit
    return queueing.smallest_limit


def _largest_room(queueing: Queueing) -> int:
    if isinstance(queueing, StrictPriority):
        return max(queue.smallest_limit for queue in queueing.queues)
    return queueing.smallest_limit


def _set_links(scenario: _core.Scenario, network: Network) -> None:
    places: dict[int, int] = {}  # by identity: comparing queueings for every link takes long
    queueings: list[_core.Rules] = []
    for link in network.links:
        if id(link.queueing) not in places:
            places[id(link.queueing)] = len(queueings)
            queueings.append(core_rules(link.queueing))
    scenario.set_queueings(queueings)
    scenario.set_links(
        rate=np.array([bits_per_second(link.rate) for link in network.links], np.int64),
        delay=picoseconds([link.delay for link in network.links]),
        loss=np.array([link.loss for link in network.links], np.float64),
        queueing=np.array([places[id(link.queueing)] for link in network.links], np.uint32),
        source=np.array([link.source for link in network.links], np.uint32),
        target=np.array([link.target for link in network.links], np.uint32),
        input=np.array([link.input for link in network.links], np.uint32),
    )


def flow_columns(groups: Sequence[Flows], taken: Sequence[tuple[int, int]], transport: int) -> dict[str, Any]:
    """Return the core's columns of flows with these paths; the transport of the first group has the number given."""
    transports = [np.full(group.count, transport + place, np.uint32) for place, group in enumerate(groups)]
    return {
        "level": _joined([group.level for group in groups], np.uint8),
        "transport": _joined(transports, np.uint32),
        "forward": np.array([forward for forward, _ in taken], np.uint32),
        "backward": np.array([backward for _, backward in taken], np.uint32),
        "start": picoseconds(_joined([group.start for group in groups], np.float64)),
        "size": _joined([group.size for group in groups], np.uint64),
    }


def _set_flows(scenario: _core.Scenario, network: Network, groups: Sequence[Flows], setting: Setting) -> RouteTable:
    balancer = setting.load_balancer
    table = RouteTable(network, groups, setting.seed, several=balancer.several_paths)
    scenario.set_transports([core_rules(transport) for transport in ready_transports(network, groups, table)])
    scenario.set_flows(**flow_columns(groups, table.taken, 0))
    scenario.set_link_changes(**_changes(setting.outages, detected=False))
    if balancer.at_switches or balancer.several_paths:
        scenario.set_known_changes(**_changes(setting.outages, detected=True))
    if not balancer.at_switches:
        _set_route_changes(scenario, table, setting.outages)
    scenario.set_routes(*table.arrays())
    scenario.set_paths(*table.sets())
    scenario.set_hosts(network.hosts)
    scenario.set_load_balancer(core_rules(balancer.forwarding), core_rules(balancer.choice))
    return table


def _changes(outages: Sequence[Outage], *, detected: bool) -> dict[str, NDArray[np.generic]]:
    """Return the failures and repairs of links, when they happen or when they are detected."""
    changes = [
        ((outage.heals if up else outage.fails) + detected * outage.detected, outage.link, up)
        for up in (False, True)
        for outage in outages
        if not up or outage.heals <= LONGEST
    ]
    return {
        "time": picoseconds([time for time, _, _ in changes]),
        "link": np.array([link for _, link, _ in changes], np.uint32),
        "up": np.array([up for _, _, up in changes], np.bool_),
    }


def _set_route_changes(scenario: _core.Scenario, table: RouteTable, outages: Sequence[Outage]) -> None:
    """Add the flows rerouted when failures and repairs are detected, if they have a path."""
    moved: list[tuple[float, int, int, int]] = []
    known: dict[float, list[tuple[int, int]]] = {}
    for outage in outages:
        for time, change in ((outage.fails, 1), (outage.heals, -1)):
            if time <= LONGEST and outage.fails < outage.heals:
                known.setdefault(time + outage.detected, []).append((outage.link, change))
    failures: Counter[int] = Counter()  # of each link that has failed; outages of the same link may overlap
    for moment, changes in sorted(known.items()):
        for link, change in changes:
            failures[link] += change
            if not failures[link]:
                del failures[link]
        moved += [(moment, *each) for each in table.reroute(failures.keys())]
    times, flows, forward, backward = zip(*moved, strict=True) if moved else ((), (), (), ())
    scenario.set_route_changes(
        time=picoseconds(times),
        flow=np.array(flows, np.uint32),
        forward=np.array(forward, np.uint32),
        backward=np.array(backward, np.uint32),
    )


def _joined(columns: Sequence[NDArray[np.generic]], kind: type[np.generic]) -> NDArray[np.generic]:
    return np.concatenate([*columns, np.empty(0, kind)]).astype(kind)
