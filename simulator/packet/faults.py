"""Faults of switches that routing does not notice, and cables that are slow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from kuijia_base.quantities import exact
from simulator.packet import _core
from simulator.packet.network import Network
from simulator.packet.units import LONGEST, picoseconds

Columns = dict[str, NDArray[np.generic]]


@dataclass(frozen=True)
class RandomDrop:
    """A switch that silently drops packets at random, all with the same probability.

    Attributes:
        switch: number of the node.
        probability: of each packet that the switch forwards.
        begins: time in seconds from which on packets are dropped.
        ends: time in seconds of the repair; infinite for never.
    """

    switch: int
    probability: float
    begins: float = 0.0
    ends: float = math.inf


@dataclass(frozen=True)
class BlackHole:
    """A switch that silently drops all packets from certain hosts to certain others, retransmissions too.

    Attributes:
        switch: number of the node.
        pairs: numbers of the hosts that send and receive the packets; acknowledgements go from the receiver of data to
            its sender.
        begins: time in seconds from which on packets are dropped.
        ends: time in seconds of the repair; infinite for never.
    """

    switch: int
    pairs: Sequence[tuple[int, int]]
    begins: float = 0.0
    ends: float = math.inf


SwitchFault = RandomDrop | BlackHole


def fault_columns(network: Network, faults: Sequence[SwitchFault]) -> tuple[Columns, Columns]:
    """Return the core's columns of random drops, and of black holes with one row for each pair.

    Raises:
        UnsoundError: a switch, host or time does not exist.
    """
    hosts = frozenset(network.hosts)
    for place, fault in enumerate(faults):
        _check(network, hosts, place, fault)
    drops = [fault for fault in faults if isinstance(fault, RandomDrop)]
    holes = [(fault, pair) for fault in faults if isinstance(fault, BlackHole) for pair in fault.pairs]
    return (
        {**_where_and_when(drops), "probability": np.array([drop.probability for drop in drops], np.float64)},
        {
            **_where_and_when([fault for fault, _ in holes]),
            "source": np.array([source for _, (source, _) in holes], np.uint32),
            "target": np.array([target for _, (_, target) in holes], np.uint32),
        },
    )


def with_rates(network: Network, rates: Mapping[int, float]) -> Network:
    """Return the network with other rates, in Mbit/s, of the links with these numbers."""
    links = [replace(link, rate=rates.get(number, link.rate)) for number, link in enumerate(network.links)]
    return replace(network, links=links)


def cables(network: Network, one: int, other: int) -> list[tuple[int, int]]:
    """Return the parallel cables between two nodes: the links of each from `one` to `other` and back."""
    there = _links(network, one, other)
    back = _links(network, other, one)
    return list(zip(there, back, strict=False))


def last_change(faults: Iterable[SwitchFault]) -> float:
    """Return the time in seconds of the last begin or repair of a fault, 0 if there is none."""
    return max((time for each in faults for time in (each.begins, each.ends) if time <= LONGEST), default=0.0)


def _links(network: Network, source: int, target: int) -> list[int]:
    return [link for link in network.outputs[source] if network.links[link].target == target]


def _where_and_when(faults: Sequence[SwitchFault]) -> Columns:
    return {
        "switch": np.array([fault.switch for fault in faults], np.uint32),
        "begins": picoseconds([fault.begins for fault in faults]),
        "ends": np.minimum(picoseconds([min(fault.ends, LONGEST) for fault in faults]), _core.LONGEST),
    }


def _check(network: Network, hosts: frozenset[int], place: int, fault: SwitchFault) -> None:
    where = ("faults", place)
    if not 0 <= fault.switch < network.nodes or fault.switch in hosts:
        raise UnsoundError((*where, "switch"), f"node {fault.switch} is no switch", "a node that forwards packets")
    if not 0 <= fault.begins <= LONGEST or not fault.ends > fault.begins:
        raise UnsoundError(
            where, f"from {exact(fault.begins)} to {exact(fault.ends)} s", "times of 0 s or more that rise"
        )
    if isinstance(fault, RandomDrop):
        if not 0 <= fault.probability <= 1:
            raise UnsoundError((*where, "probability"), f"{exact(fault.probability)}", "a number between 0 and 1")
        return
    for number, pair in enumerate(fault.pairs):
        for host in pair:
            if host not in hosts:
                raise UnsoundError((*where, "pairs", number), f"node {host} is no host", "two hosts")
