"""Conversion of networks, flows and settings to the plain arrays that the core takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from simulator.packet import _core
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.queues import core_queueing, smallest_limit
from simulator.packet.route_table import RouteTable
from simulator.packet.transports import ConstantRate, Packets, Tcp, largest_packet
from simulator.packet.units import LONGEST, bits_per_second, picoseconds

_TCP, _CONSTANT_RATE, _LISTED = range(3)


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
    """The settings of a simulation beside network and traffic.

    Attributes:
        seed: the seed of all randomness: hashes of flows, random drops, the order of simultaneous events.
        outages: links that fail.
        probed: links whose queues are sampled regularly.
        probe_every: seconds between two samples.
    """

    seed: int = 1
    outages: Sequence[Outage] = ()
    probed: Sequence[int] = ()
    probe_every: float = LONGEST


def core_scenario(network: Network, groups: Sequence[Flows], setting: Setting) -> _core.Scenario:
    """Return the core's form of a scenario; flows are numbered through all groups.

    Raises:
        UnsoundError: the scenario is invalid; the message says why.
        NoPathError: a flow has no path to its target.
    """
    _check_sizes(network, groups)
    scenario = _core.Scenario(setting.seed)
    _set_links(scenario, network)
    _set_flows(scenario, network, groups, setting)
    scenario.set_probes(list(setting.probed), int(picoseconds(setting.probe_every)))
    return scenario


def _check_sizes(network: Network, groups: Sequence[Flows]) -> None:
    """Require that the largest packet fits into every queue; otherwise its flow would never get through."""
    size = max((largest_packet(group.transport) for group in groups), default=0)
    for number, link in enumerate(network.links):
        if (limit := smallest_limit(link.queueing)) < size:
            where = ("links", number, "queueing")
            raise UnsoundError(where, f"its limit of {limit} bytes is less than a packet", f"{size} or more")


def _set_links(scenario: _core.Scenario, network: Network) -> None:
    kinds: dict[tuple[int, int], int] = {}  # one entry per queueing and number of inputs
    queueings: list[_core.Queueing] = []
    for link in network.links:
        key = (id(link.queueing), network.inputs[link.source])
        if key not in kinds:
            kinds[key] = len(queueings)
            queueings.append(core_queueing(link.queueing, max(1, network.inputs[link.source])))
    scenario.set_queueings(queueings)
    scenario.set_links(
        np.array([bits_per_second(link.rate) for link in network.links], np.int64),
        picoseconds([link.delay for link in network.links]),
        np.array([link.loss for link in network.links], np.float64),
        np.array([kinds[id(link.queueing), network.inputs[link.source]] for link in network.links], np.uint32),
        np.array([link.input for link in network.links], np.uint32),
    )


def _set_flows(scenario: _core.Scenario, network: Network, groups: Sequence[Flows], setting: Setting) -> None:
    scenario.set_tcp([group.transport.rules() for group in groups if isinstance(group.transport, Tcp)])
    for group in groups:
        if isinstance(group.transport, Packets):
            scenario.add_list(
                picoseconds(group.transport.times), np.asarray(group.transport.sizes, np.uint32), group.transport.ecn
            )
    kinds, rules, rates, packets = [], [], [], []
    seen = {Tcp: 0, ConstantRate: 0, Packets: 0}
    for group in groups:
        transport = group.transport
        kind = (
            _TCP if isinstance(transport, Tcp) else _CONSTANT_RATE if isinstance(transport, ConstantRate) else _LISTED
        )
        kinds.append(np.full(group.count, kind, np.uint8))
        rules.append(np.full(group.count, seen[type(transport)], np.uint32))
        seen[type(transport)] += 1
        constant = transport if isinstance(transport, ConstantRate) else None
        rates.append(np.full(group.count, bits_per_second(constant.rate) if constant else 0, np.int64))
        packets.append(np.full(group.count, constant.packet if constant else 0, np.uint32))
    table = RouteTable(network, groups, setting.seed)
    scenario.set_flows(
        kind=_joined(kinds, np.uint8),
        level=_joined([group.level for group in groups], np.uint8),
        rules=_joined(rules, np.uint32),
        forward=np.array([forward for forward, _ in table.taken], np.uint32),
        backward=np.array([backward for _, backward in table.taken], np.uint32),
        start=picoseconds(_joined([group.start for group in groups], np.float64)),
        size=_joined([group.size for group in groups], np.uint64),
        rate=_joined(rates, np.int64),
        packet=_joined(packets, np.uint32),
    )
    _set_outages(scenario, table, setting.outages)
    scenario.set_routes(*table.arrays())


def _set_outages(scenario: _core.Scenario, table: RouteTable, outages: Sequence[Outage]) -> None:
    """Add the failures and repairs of links, and the flows rerouted when these are detected, if they have a path."""
    changes = [(outage.fails, outage.link, False) for outage in outages]
    changes += [(outage.heals, outage.link, True) for outage in outages if outage.heals <= LONGEST]
    scenario.set_link_changes(
        picoseconds([time for time, _, _ in changes]),
        np.array([link for _, link, _ in changes], np.uint32),
        np.array([up for _, _, up in changes], np.bool_),
    )
    moved: list[tuple[float, int, int, int]] = []
    known = {time + outage.detected for outage in outages for time in (outage.fails, outage.heals) if time <= LONGEST}
    for moment in sorted(known):
        failed = {
            outage.link
            for outage in outages
            if outage.fails + outage.detected <= moment < outage.heals + outage.detected
        }
        moved += [(moment, *change) for change in table.reroute(failed)]
    times, flows, forward, backward = zip(*moved, strict=True) if moved else ((), (), (), ())
    scenario.set_route_changes(
        picoseconds(times), np.array(flows, np.uint32), np.array(forward, np.uint32), np.array(backward, np.uint32)
    )


def _joined(columns: Sequence[NDArray[np.generic]], kind: type[np.generic]) -> NDArray[np.generic]:
    return np.concatenate([*columns, np.empty(0, kind)]).astype(kind)
