"""Load of a network: a share of the capacity of hosts' links, or of what the network can carry of a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from simulator.packet.network import Network
from simulator.packet.routing import Ecmp, NoPathError
from simulator.packet.traffic.patterns import Pattern
from simulator.portable_random import Draws

LARGEST = 100
"""Share of the capacity that flows may need."""


class Reference(Enum):
    """Meaning of load 1: flows fill all hosts' links, or they fill the busiest link of the network."""

    HOSTS = "hosts"
    NETWORK = "network"


@dataclass(frozen=True)
class Load:
    """The mean demand of flows as a share of the reference, counted in payload.

    Attributes:
        part: the share; at 1 or more the backlog grows as long as flows come.
    """

    part: float
    of: Reference = Reference.HOSTS

    def __post_init__(self) -> None:
        if not 0 < self.part <= LARGEST:
            raise UnsoundError(("load",), f"is {self.part:g}", f"more than 0, at most {LARGEST}")


def capacity(network: Network, pattern: Pattern, of: Reference, draws: Draws) -> float:
    """Return the Mbit/s of all flows together at load 1.

    Args:
        network: the network; hosts' links are those that leave hosts.
        pattern: the pattern of senders and receivers.
        of: `HOSTS` for the sum of hosts' links; `NETWORK` for the most that the pattern can send through the network if
            each switch divides its traffic for a host evenly among the first links of the shortest paths to it.
        draws: the stream from which the pattern's pairs are drawn.

    Raises:
        NoPathError: no host has a link, or, for `NETWORK`, pairs of the pattern are not connected.
    """
    if of is Reference.HOSTS:
        leaving = [network.links[link].rate for host in network.hosts for link in network.outputs[host]]
        if not leaving:
            raise NoPathError("no host has a link")
        return sum(leaving)
    shares = link_shares(network, pattern.shares(len(network.hosts), draws))
    rates = np.array([link.rate for link in network.links])
    used = shares > 0
    return float((rates[used] / shares[used]).min())


def link_shares(network: Network, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of all traffic that crosses each link, given the shares between hosts, shape (H, H).

    Raises:
        NoPathError: traffic goes between hosts that are not connected.
    """
    ecmp = Ecmp(network)
    crossing = np.zeros(len(network.links))
    for place, target in enumerate(network.hosts):
        choices = ecmp.choices(target)
        passing = np.zeros(network.nodes)
        passing[network.hosts] = shares[:, place]
        for node in _farthest_first(network, choices, target):
            if passing[node] > 0 and not choices[node]:
                raise NoPathError(f"no path leads from node {node} to node {target}")
            for link in choices[node]:
                crossing[link] += passing[node] / len(choices[node])
                passing[network.links[link].target] += passing[node] / len(choices[node])
    return crossing


def _farthest_first(network: Network, choices: list[list[int]], target: int) -> list[int]:
    """Return all nodes but the target, each before the nodes that follow it on shortest paths to the target."""
    before = [0] * network.nodes
    for links in choices:
        for link in links:
            before[network.links[link].target] += 1
    order = [node for node in range(network.nodes) if before[node] == 0]
    for node in order:
        for link in choices[node]:
            behind = network.links[link].target
            before[behind] -= 1
            if before[behind] == 0:
                order.append(behind)
    return [node for node in order if node != target]
