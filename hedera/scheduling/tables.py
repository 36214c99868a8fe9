"""The tables of switches without the scheduler: ECMP by SELECT groups, around failed cables; pure.

Packets start in table 0, where edge switches count them by flow (see `messages`), and continue to table 1:

| priority | matches | leads to |
|---|---|---|
| 100 | a scheduled flow | a fast-failover group: the port chosen for it, else its ECMP group |
| 20 | the address of an own host | its port |
| 10 | the prefix of another edge switch | the next hops of shortest paths, by a SELECT group if there are several |

There is an entry for each family of addresses; families share groups.

All switches hash a flow to the same slot, as they use one hash function. If edge and aggregation switches assigned
their slots in the same order, the second choice would repeat the first, and half of the core of a k = 4 fat-tree would
stay idle. So switches at an odd distance from the destination use another digit of the slot's number than those at an
even one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from hedera.network.data_centre import ROUTE_TABLE, DataCentre
from kuijia_app.tables.rules import Bucket, FlowEntry, Group, GroupType, Match, Output, SwitchTables, ToGroup

COUNTER_TABLE = 2

PREFIX_PRIORITY = 10
HOST_PRIORITY = 20
SCHEDULED_PRIORITY = 100

_FEWEST_SLOTS, _MOST_SLOTS = 64, 256
"""Slots of a SELECT group; Open vSwitch spreads equal buckets evenly if their number is a power of two up to 256."""

_SELECT_IDS, _FAILOVER_IDS = 0x1000_0000, 0x2000_0000
_NUMBERS = 0x1000_0000
"""Numbers of groups of each kind."""

_GROUP_IDS = range(_SELECT_IDS, _FAILOVER_IDS + _NUMBERS)

Cable = frozenset[str]
"""The two ends of a cable."""

_Entries: TypeAlias = tuple[FlowEntry, ...]
"""An entry for each prefix of an edge switch."""

_Cables: TypeAlias = Mapping[str, Sequence[tuple[str, int]]]
"""The neighbours of each switch, each with the port that leads there."""


def is_own_group(group_id: int) -> bool:
    """Return True for the id of a group that only the scheduler may use."""
    return group_id in _GROUP_IDS


@dataclass(frozen=True, slots=True)
class NextHops:
    """The next hops of a switch towards one edge switch.

    Attributes:
        ports: ports to the next switches on shortest paths, in the order of their numbers.
        distance: number of hops to the edge switch.
        number: the first of as many numbers as there are ports; no other choice has one of them.
    """

    ports: tuple[int, ...]
    distance: int
    number: int

    @property
    def group_id(self) -> int:
        """Number of the SELECT group."""
        return _SELECT_IDS | self.number

    def failover_id(self, port: int) -> int:
        """Return the number of the group that prefers one of the ports."""
        return _FAILOVER_IDS | self.number + self.ports.index(port)


class _Numbers:
    """Numbers of choices of ports: each choice keeps its own, no two choices share any.

    A choice takes the first free numbers after those that its hash suggests. So two schedulers, or one that is started
    again, number alike whatever has failed in which order, unless two hashes collide.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[tuple[int, ...], int], int] = {}
        self._taken: set[int] = set()

    def first(self, ports: tuple[int, ...], distance: int) -> int:
        """Return the first number of a choice; distances that differ by an even number make the same groups."""
        choice = ports, distance % 2
        if choice not in self._first:
            number = self._suggested(*choice)
            while (own := range(number, number + len(ports))).stop > _NUMBERS or not self._taken.isdisjoint(own):
                number = (number + 1) % _NUMBERS
            self._first[choice] = number
            self._taken.update(own)
        return self._first[choice]

    @staticmethod
    def _suggested(ports: tuple[int, ...], parity: int) -> int:
        return zlib.crc32(f"{parity} {ports}".encode()) % _NUMBERS


class Routing:
    """All next hops of a data centre that has lost some of its cables between switches.

    A failed switch is one that has lost all of its cables.
    """

    def __init__(
        self,
        centre: DataCentre,
        failed: Collection[Cable] = frozenset(),
        before: Routing | None = None,
        progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> None:
        """Find the next hops.

        Args:
            centre: the data centre.
            failed: the cables that it has lost.
            before: another routing of it; `tables` returns the same objects as there for all that is equal, and groups
                keep their numbers.
            progress: called with the number of edge switches that are done, and of all.
        """
        self.centre = centre
        self._choices = centre.fabric.blocks
        self._tables: dict[str, SwitchTables] = {} if before is None else before._tables  # noqa: SLF001  # of our own class
        self._entries: dict[tuple[str, int], _Entries] = {} if before is None else before._entries  # noqa: SLF001
        self._towards: dict[str, dict[str, NextHops]] = {}
        self._numbers: _Numbers = _Numbers() if before is None else before._numbers  # noqa: SLF001
        made: dict[tuple[tuple[int, ...], int], NextHops] = {}
        cables = _cables(centre, failed)
        for number, (edge, _) in enumerate(centre.edges, start=1):
            self._towards[edge] = _hops_towards(edge, cables, made, self._numbers)
            progress(number, len(centre.edges))

    def next_hops(self, switch: str, edge: str) -> NextHops | None:
        """Return the next hops from a switch to an edge switch; None without a path, and at the edge switch itself."""
        return self._towards[edge].get(switch)

    def tables(self) -> dict[str, SwitchTables]:
        """Return the tables of each switch."""
        entries: dict[tuple[str, int], _Entries] = {}
        ids: dict[int, tuple[NextHops, int]] = {}
        self._tables = {switch: self._tables_of(switch, entries, ids) for switch in self.centre.wiring.topology.nodes}
        self._entries = entries
        return self._tables

    def _tables_of(
        self, switch: str, made: dict[tuple[str, int], _Entries], ids: dict[int, tuple[NextHops, int]]
    ) -> SwitchTables:
        """Return a switch's tables; `made` takes the entries that several switches have, `ids` the groups of hops."""
        before = self._tables.get(switch)
        used: dict[int, NextHops] = {}
        entries = list(self._own_entries(switch) if before is None else before.flows[: self._own_count(switch)])
        for edge, prefixes in self.centre.edges:
            hops = self._towards[edge].get(switch)
            if hops is None:
                continue
            is_single = len(hops.ports) == 1
            if is_single:
                number = hops.ports[0]
            else:
                # By identity: equal next hops are one object here, and to hash them takes longer.
                known = ids.get(id(hops))
                if known is None:
                    known = ids[id(hops)] = hops, hops.group_id
                number = known[1]
                used[number] = hops
            its = made.get((edge, number))
            if its is None:
                its = self._entries.get((edge, number))
                if its is None:
                    actions = (Output(number) if is_single else ToGroup(number),)
                    matches = map(Match.to, prefixes)
                    its = tuple(FlowEntry(PREFIX_PRIORITY, match, actions, ROUTE_TABLE) for match in matches)
                made[edge, number] = its
            entries += its
        groups = {group.group_id: group for hops in used.values() for group in _groups(hops, self._choices)}
        # Failover groups watch the SELECT groups, so these must come first.
        found = SwitchTables(tuple(groups[group_id] for group_id in sorted(groups)), tuple(entries))
        return before if before is not None and before == found else found

    def _own_count(self, switch: str) -> int:
        """Return the number of entries that no failure changes."""
        return 1 + sum(len(site.prefixes) for site in self.centre.hosts_of.get(switch, ()))

    def _own_entries(self, switch: str) -> Iterator[FlowEntry]:
        """Yield the entries that no failure changes."""
        yield FlowEntry(0, Match(), goto_table=ROUTE_TABLE)
        for site in self.centre.hosts_of.get(switch, ()):
            for prefix in site.prefixes:
                yield FlowEntry(HOST_PRIORITY, Match.to(prefix), (Output(site.port),), ROUTE_TABLE)


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


def _cables(centre: DataCentre, failed: Collection[Cable]) -> _Cables:
    wiring = centre.wiring
    neighbours = wiring.topology.neighbours
    return {
        switch: [
            (other, wiring.port(switch, other))
            for other in neighbours[switch]
            if not failed or frozenset((switch, other)) not in failed
        ]
        for switch in wiring.topology.nodes
    }


def _hops_towards(
    edge: str, cables: _Cables, made: dict[tuple[tuple[int, ...], int], NextHops], numbers: _Numbers
) -> dict[str, NextHops]:
    """Return the next hops of each other switch that can reach an edge switch; equal ones are one object of `made`."""
    far = {edge: 0}
    found: dict[str, NextHops] = {}
    nearest, distance = [edge], 0
    while nearest:
        distance += 1
        following = []
        for switch in nearest:
            for other, _ in cables[switch]:
                if other not in far:
                    far[other] = distance
                    following.append(other)
        for switch in following:
            ports = tuple([port for other, port in cables[switch] if far.get(other) == distance - 1])
            hops = made.get((ports, distance))
            if hops is None:
                hops = made[ports, distance] = NextHops(ports, distance, numbers.first(ports, distance))
            found[switch] = hops
        nearest = following
    return found
