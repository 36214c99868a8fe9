"""Ideal completion times: flows alone on an idle network, sent at the full rate of their path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.packet.flows import ENDLESS, Flows
from simulator.packet.network import Network
from simulator.packet.route_table import RouteTable
from simulator.packet.transports import Tcp
from simulator.packet.units import PICOSECONDS, bits_per_second, picoseconds

Vector = NDArray[np.float64]
Whole = NDArray[np.int64]


def ideal_completion(network: Network, groups: Sequence[Flows], seed: int) -> Vector:
    """Return each flow's seconds from start to the last byte's arrival on its own path, all groups, shape (F,).

    A lower bound where the flow keeps this path; one whose segments take several paths may be faster. All segments
    leave the source back to back and wait for nothing but the segment before them; packets are stored and forwarded,
    headers included, and a handshake comes first where the transport has one. NaN for endless flows, and for transports
    other than TCP, whose pace is given.

    Args:
        network: the network of the flows.
        groups: the flows.
        seed: the seed of the simulation, which determines the paths.

    Raises:
        UnsoundError, NoPathError: as `Simulation`.
    """
    paths = _Paths.of(network, groups, seed)
    found, first = [np.empty(0)], 0
    for group in groups:
        if isinstance(group.transport, Tcp):
            rows = np.arange(first, first + group.count)
            found.append(np.where(group.size == ENDLESS, np.nan, _of_tcp(group, group.transport, paths, rows)))
        else:
            found.append(np.full(group.count, np.nan))
        first += group.count
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class _Paths:
    """The forward and backward paths of all flows as rows of links, padded to the longest with a link without delay.

    Attributes:
        rates: bit/s of each link, shape (L,).
        delays: picoseconds of each link, and a zero for padding, shape (L + 1,).
        forward, backward: numbers of links, shape (F, longest).
    """

    rates: Whole
    delays: Whole
    forward: Whole
    backward: Whole

    @classmethod
    def of(cls, network: Network, groups: Sequence[Flows], seed: int) -> _Paths:
        table = RouteTable(network, groups, seed)
        starts, links = table.arrays()
        nothing = len(network.links)
        longest = int(np.diff(starts).max(initial=0))
        padded = np.append(links.astype(np.int64), np.full(longest, nothing))
        rows = padded[starts[:-1, None] + np.arange(longest)]
        rows[np.arange(longest) >= np.diff(starts)[:, None]] = nothing
        taken = np.array(table.taken, np.int64).reshape(-1, 2)
        rates = np.array([bits_per_second(link.rate) for link in network.links], np.int64)
        delays = np.append(picoseconds([link.delay for link in network.links]), 0)
        return cls(rates, delays, rows[taken[:, 0]], rows[taken[:, 1]])

    def times(self, ways: Whole, size: Whole) -> Vector:
        """Return the picoseconds that each link of each path takes to send `size` bytes, shape (F, longest)."""
        inside = ways < self.rates.size
        rate = self.rates[np.where(inside, ways, 0)]
        return np.where(inside, -(-8 * PICOSECONDS * size[:, None] // rate), 0).astype(np.float64)


def _of_tcp(group: Flows, tcp: Tcp, paths: _Paths, rows: Whole) -> Vector:
    """Return the ideal completion times of a group of TCP flows, in seconds.

    All segments but the last are of full size. The longest chain of transmissions that wait for each other is thus: the
    first full segment up to some link, the others at the slowest link up to there, the last segment from there on.
    """
    forward = paths.forward[rows]
    segments = np.maximum(-(-group.size // tcp.payload), 1)
    full = paths.times(forward, np.full(group.count, tcp.payload + tcp.header))
    last = paths.times(forward, group.size - (segments - 1) * tcp.payload + tcp.header)
    before = np.cumsum(full, axis=1) + (segments[:, None] - 2) * np.maximum.accumulate(full, axis=1)
    after = np.cumsum(last[:, ::-1], axis=1)[:, ::-1]
    sending = np.where(segments == 1, after[:, 0], (before + after).max(axis=1))
    total: Vector = sending + paths.delays[forward].sum(axis=1)
    if tcp.handshake:
        for ways in (forward, paths.backward[rows]):
            total += paths.times(ways, np.full(group.count, tcp.header)).sum(axis=1) + paths.delays[ways].sum(axis=1)
    return total / PICOSECONDS
