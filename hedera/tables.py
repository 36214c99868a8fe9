"""The tables of switches without the scheduler: ECMP by SELECT groups, around failed cables; pure.

Packets start in table 0, where edge switches count them by flow (see `hedera.messages`), and continue to table 1:

| priority | matches | leads to |
|---|---|---|
| 100 | a scheduled flow | a fast-failover group: the port chosen for it, else its ECMP group |
| 20 | the address of an own host | its port |
| 10 | the prefix of another edge switch | the next hops of shortest paths, by a SELECT group if there are several |

All switches hash a flow to the same slot, as they use one hash function. If edge and aggregation switches assigned
their slots in the same order, the second choice would repeat the first, and half of the core of a k = 4 fat-tree would
stay idle. So switches at an odd distance from the destination use another digit of the slot's number than those at an
even one.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from hedera.data_centre import DataCentre
from kuijia_app.tables.rules import (
    ETH_TYPE_IPV4,
    Bucket,
    FlowEntry,
    Group,
    GroupType,
    Match,
    Output,
    SwitchTables,
    ToGroup,
)
from te_solver.topology import Topology

ROUTE_TABLE = 1
COUNTER_TABLE = 2

PREFIX_PRIORITY = 10
HOST_PRIORITY = 20
SCHEDULED_PRIORITY = 100

_FEWEST_SLOTS, _MOST_SLOTS = 64, 256
"""Slots of a SELECT group; Open vSwitch spreads equal buckets evenly if their number is a power of two up to 256."""

_SELECT_IDS, _FAILOVER_IDS = 0x0100_0000, 0x0200_0000
_ID_BITS = 0x00FF_FFFF

Cable = frozenset[str]
"""The two ends of a cable."""


@dataclass(frozen=True, slots=True)
class NextHops:
    """The next hops of a switch towards one edge switch.

    Attributes:
        ports: ports to the next switches on shortest paths, in the order of their numbers.
        distance: number of hops to the edge switch.
    """

    ports: tuple[int, ...]
    distance: int

    @property
    def group_id(self) -> int:
        """Number of the SELECT group; equal choices have equal numbers, whatever else has failed."""
        return _SELECT_IDS | self._digest("select")

    def failover_id(self, port: int) -> int:
        """Return the number of the group that prefers one of the ports."""
        return _FAILOVER_IDS | self._digest(f"prefer {port}")

    def _digest(self, use: str) -> int:
        return zlib.crc32(f"{use} {self.distance % 2} {self.ports}".encode()) & _ID_BITS


class Routing:
    """All next hops of a data centre that has lost some of its cables between switches.

    A failed switch is one that has lost all of its cables.
    """

    def __init__(self, centre: DataCentre, failed: Collection[Cable] = frozenset()) -> None:
        self.centre = centre
        topology = centre.wiring.topology
        self._next: dict[tuple[str, str], NextHops] = {}
        for edge, _ in centre.edges:
            distances = _distances(topology, edge, failed)
            for switch, distance in distances.items():
                ports = tuple(
                    centre.wiring.port(switch, other)
                    for other in topology.neighbours[switch]
                    if frozenset((switch, other)) not in failed and distances.get(other, distance) == distance - 1
                )
                if ports:
                    self._next[switch, edge] = NextHops(ports, distance)
        self._choices = centre.fabric.blocks

    def next_hops(self, switch: str, edge: str) -> NextHops | None:
        """Return the next hops from a switch to an edge switch; None without a path, and at the edge switch itself."""
        return self._next.get((switch, edge))

    def tables(self) -> dict[str, SwitchTables]:
        """Return the tables of each switch."""
        return {switch: self._tables_of(switch) for switch in self.centre.wiring.topology.nodes}

    def _tables_of(self, switch: str) -> SwitchTables:
        groups: dict[int, Group] = {}
        entries = [FlowEntry(0, Match(), goto_table=ROUTE_TABLE)]
        for site in self.centre.hosts_of.get(switch, ()):
            match = Match(eth_type=ETH_TYPE_IPV4, ipv4_dst=site.prefix)
            entries.append(FlowEntry(HOST_PRIORITY, match, (Output(site.port),), ROUTE_TABLE))
        for edge, prefix in self.centre.edges:
            hops = self.next_hops(switch, edge)
            if hops is None:
                continue
            match = Match(eth_type=ETH_TYPE_IPV4, ipv4_dst=prefix)
            if len(hops.ports) == 1:
                action: Output | ToGroup = Output(hops.ports[0])
            else:
                action = ToGroup(hops.group_id)
                if hops.group_id not in groups:
                    groups.update((group.group_id, group) for group in _groups(hops, self._choices))
            entries.append(FlowEntry(PREFIX_PRIORITY, match, (action,), ROUTE_TABLE))
        # Failover groups watch the SELECT groups, so these must come first.
        return SwitchTables(tuple(groups[group_id] for group_id in sorted(groups)), tuple(entries))


@lru_cache(maxsize=1024)
def _groups(hops: NextHops, choices: int) -> tuple[Group, ...]:
    """Return the groups of next hops; kept, as most are the same after a failure, which they delay otherwise."""
    select = ToGroup(hops.group_id)
    return (
        Group(hops.group_id, GroupType.SELECT, _slots(hops, choices)),
        *(
            Group(
                hops.failover_id(port),
                GroupType.FAST_FAILOVER,
                (Bucket((Output(port),), port), Bucket((select,), watch_group=hops.group_id)),
            )
            for port in hops.ports
        ),
    )


def _slots(hops: NextHops, choices: int) -> tuple[Bucket, ...]:
    digit = choices if hops.distance % 2 else 1
    count = _FEWEST_SLOTS
    while count < min(choices**2, _MOST_SLOTS):
        count *= 2
    ports = (hops.ports[slot // digit % len(hops.ports)] for slot in range(count))
    return tuple(Bucket((Output(port),), port) for port in ports)


def _distances(topology: Topology, target: str, failed: Collection[Cable]) -> dict[str, int]:
    """Return the distance in links of each switch that can reach `target`."""
    far = {target: 0}
    queue = deque([target])
    while queue:
        switch = queue.popleft()
        for other in topology.neighbours[switch]:
            if other not in far and frozenset((switch, other)) not in failed:
                far[other] = far[switch] + 1
                queue.append(other)
    return far
