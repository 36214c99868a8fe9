"""Round trips of small packets over the paths of flows, and the time that FlashPass waits for its credits.

Bounds between pairs of hosts need no flows: a wait below is refused before these are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from simulator.packet.credited import CREDIT_LEVEL, DATA, FlashPass
from simulator.packet.flows import Flows
from simulator.packet.network import Network, PacketLink
from simulator.packet.queues import StrictPriority
from simulator.packet.routing import RouteTable
from simulator.packet.traffic.patterns import Pairs
from simulator.packet.transports import Transport
from simulator.packet.units import LONGEST, PICOSECONDS

Vector = NDArray[np.float64]


def ready_transports(network: Network, groups: Sequence[Flows], table: RouteTable, first: int = 0) -> list[Transport]:
    """Return the groups' transports with the time that FlashPass waits; flows are numbered from `first` on.

    Raises:
        UnsoundError: FlashPass would wait for less than its flows' largest round trip.
    """
    waiting = [group.transport for group in groups if isinstance(group.transport, FlashPass) and group.count]
    if not waiting:
        return [_waiting(group.transport, 1.0) for group in groups]  # without flows any time will do
    plain, full = _times(network, table)
    longest = 0.0
    for group in groups:
        rows = table.taken[first : first + group.count]
        first += group.count
        if isinstance(group.transport, FlashPass) and rows:
            least = _largest(rows, plain)
            wait = group.transport.wait
            if wait is not None and wait < whole(least):
                raise too_short(wait, least)
            longest = max(longest, _largest(rows, full))
    if longest > LONGEST and any(transport.wait is None for transport in waiting):
        raise UnsoundError(
            ("flashpass", "wait"), f"the largest round trip is {longest:.9g} s", f"{LONGEST:.0f} s at most"
        )
    return [_waiting(group.transport, longest) for group in groups]


def whole(seconds: float) -> float:
    """Return seconds rounded up to whole picoseconds, as the core counts; a thousandth more is a sum's rounding."""
    return ceil(seconds * PICOSECONDS - 1e-3) / PICOSECONDS


def too_short(wait: float, least: float) -> UnsoundError:
    """Return the refusal of a wait below a round trip, with both as exact as a user must give them."""
    needed = f"{Decimal(round(whole(least) * PICOSECONDS)).scaleb(-12).normalize():f} s"
    problem = f"{repr(float(wait)).removesuffix('.0')} s is less than the largest round trip, {needed}"
    return UnsoundError(("flashpass", "wait"), problem, f"{needed} or more")


def _waiting(transport: Transport, wait: float) -> Transport:
    """Return the transport with this time if it leaves it open."""
    if isinstance(transport, FlashPass) and transport.wait is None:
        return replace(transport, wait=wait)
    return transport


def _times(network: Network, table: RouteTable) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
    """Return the longest seconds of each set of paths, there and back: on idle links, and with full queues."""
    idle = np.array([idle_seconds(link) for link in network.links])
    there = idle + np.array([_queued(link) for link in network.links])
    back = idle + np.array([2 * 8e-6 * DATA / link.rate for link in network.links])
    of_idle = _of_sets(table, idle)
    return (of_idle, of_idle), (_of_sets(table, there), _of_sets(table, back))


def _of_sets(table: RouteTable, links: Vector) -> Vector:
    first_link, crossed = table.arrays()
    of_path = np.add.reduceat(links[crossed], first_link[:-1])
    first_path, paths = table.sets()
    longest: Vector = np.maximum.reduceat(of_path[paths], first_path[:-1])
    return longest


def _largest(rows: Sequence[tuple[int, int]], times: tuple[Vector, Vector]) -> float:
    there, back = times
    return max(float(there[forward] + back[backward]) for forward, backward in set(rows))


def idle_seconds(link: PacketLink) -> float:
    """Return the seconds that a small packet takes to the other end of an idle link."""
    return link.delay + 8e-6 * FlashPass().control / link.rate


def _queued(link: PacketLink) -> float:
    """Return the seconds in a full queue of emulation packets, and behind a data packet on the link."""
    seconds = 8e-6 * DATA / link.rate
    if isinstance(link.queueing, StrictPriority) and len(link.queueing.queues) > CREDIT_LEVEL:
        queue = link.queueing.queues[CREDIT_LEVEL]
        seconds += 8e-6 * queue.limit / (queue.shaping.rate if queue.shaping else link.rate)
    return seconds


Whole = NDArray[np.int64]

_AT_A_TIME = 4_000_000
"""Pairs of a link and a target that are looked at together."""


def require_wait(network: Network, pairs: Pairs, wait: float) -> None:
    """Refuse a wait that is too short for a flow of one of these pairs, whichever of its shortest paths it takes.

    The wait that the message asks for is enough on all of them. Nothing is refused in a network with hosts that have
    several links, or without switches: `Simulation` does this in all networks, by the paths that flows take.

    Raises:
        UnsoundError: the wait is less than the largest round trip.
    """
    found = round_trips(network, pairs)
    if found is not None and np.isfinite(found[0]) and wait < whole(found[0] * (1 - 1e-12)):
        raise too_short(wait, found[1])


def round_trips(network: Network, pairs: Pairs) -> tuple[float, float] | None:
    """Return the seconds of the largest round trip of these pairs if all take their fastest or slowest shortest paths.

    None in a network with hosts that have several links, or without switches; infinite if a pair has no path.
    """
    access = _Access.of(network)
    if access is None or not len(pairs):
        return None
    source, target = _distinct(pairs, len(network.hosts))
    ends, place = np.unique(access.switch, return_inverse=True)
    shortest, longest = _between(network, ends)
    ways = ((place[source], place[target]), (place[target], place[source]))
    at_hosts = access.seconds[source] + access.seconds[target]
    least, most = (float((at_hosts + sum(table[way] for way in ways)).max()) for table in (shortest, longest))
    return least, most


@dataclass(frozen=True, eq=False)
class _Access:
    """The only switch of each host, and the seconds to it and back; shape (H,) each."""

    switch: Whole
    seconds: Vector

    @classmethod
    def of(cls, network: Network) -> _Access | None:
        """Return None if a host has not one link each way, or is linked to another host."""
        hosts, links = set(network.hosts), network.links
        incoming: dict[int, list[int]] = {host: [] for host in network.hosts}
        for number, link in enumerate(links):
            if link.target in hosts:
                incoming[link.target].append(number)
        both = [(network.outputs[host], incoming[host]) for host in network.hosts]
        if any(len(there) != 1 or len(back) != 1 for there, back in both):
            return None
        there, back = ([links[numbers[0]] for numbers in each] for each in zip(*both, strict=True))
        if any(a.target != b.source or a.target in hosts for a, b in zip(there, back, strict=True)):
            return None
        seconds = [idle_seconds(a) + idle_seconds(b) for a, b in zip(there, back, strict=True)]
        return cls(np.array([link.target for link in there], np.int64), np.array(seconds))


def _distinct(pairs: Pairs, hosts: int) -> tuple[Whole, Whole]:
    met = np.zeros(hosts * hosts, np.bool_)
    met[pairs[:, 0] * hosts + pairs[:, 1]] = True
    source, target = np.divmod(np.flatnonzero(met), hosts)
    return source, target


def _between(network: Network, ends: Whole) -> tuple[Vector, Vector]:
    """Return the least and the most seconds of shortest paths between switches, from rows to columns."""
    from scipy.sparse import csr_array  # noqa: PLC0415  # slow to import
    from scipy.sparse.csgraph import dijkstra  # noqa: PLC0415

    hosts = set(network.hosts)
    links = [link for link in network.links if not {link.source, link.target} & hosts]
    source, target = (np.array([getattr(link, end) for link in links], np.int64) for end in ("source", "target"))
    seconds = np.array([idle_seconds(link) for link in links], np.float64)
    back = csr_array((np.ones(len(links)), (target, source)), shape=(network.nodes, network.nodes))
    shortest, longest = np.empty((ends.size, ends.size)), np.empty((ends.size, ends.size))
    step = max(1, _AT_A_TIME // max(len(links), network.nodes))
    for first in range(0, ends.size, step):
        toward = ends[first : first + step]
        hops = dijkstra(back, indices=toward, unweighted=True)
        least, most = _along(hops, source, target, seconds)
        shortest[:, first : first + step] = least[:, ends].T
        longest[:, first : first + step] = most[:, ends].T
    return shortest, longest


def _along(hops: Vector, source: Whole, target: Whole, seconds: Vector) -> tuple[Vector, Vector]:
    """Return the least and the most seconds along links that come one hop nearer, shape as of `hops`."""
    least, most = np.where(hops == 0, 0.0, np.inf), np.where(hops == 0, 0.0, -np.inf)
    end, link = np.nonzero((hops[:, source] == hops[:, target] + 1) & np.isfinite(hops[:, source]))
    away = hops[end, source[link]].astype(np.int64)
    order = np.argsort(away, kind="stable")
    end, link = end[order], link[order]
    bounds = np.searchsorted(away[order], np.arange(1, int(away.max(initial=0)) + 2))
    nodes = hops.shape[1]
    for low, high in pairwise(bounds.tolist()):
        rows, at = end[low:high] * nodes, link[low:high]
        before, behind = rows + source[at], rows + target[at]
        np.minimum.at(least.reshape(-1), before, least.reshape(-1)[behind] + seconds[at])
        np.maximum.at(most.reshape(-1), before, most.reshape(-1)[behind] + seconds[at])
    return least, most
