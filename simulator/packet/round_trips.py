"""Round trips of small packets over the paths of flows, and the time that FlashPass waits for its credits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from math import ceil

import numpy as np
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from simulator.packet.credited import CREDIT_LEVEL, DATA, FlashPass
from simulator.packet.flows import Flows
from simulator.packet.network import Network, PacketLink
from simulator.packet.queues import StrictPriority
from simulator.packet.route_table import RouteTable
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
