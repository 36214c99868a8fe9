"""The elephants on real switches, from round to round: rates of flows in, entries to add and delete out; pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hedera.network.data_centre import DataCentre
from hedera.network.fabric import HASHED, Ints
from hedera.placement.interface import Placement
from hedera.placement.scheduling_round import ELEPHANT, place_by_demand
from hedera.scheduling.polling import FiveTuple, ScheduledEntry
from hedera.scheduling.tables import Cable, Routing

MOUSE = ELEPHANT / 2
"""Share of an interface below which an elephant ceases to be one; on a crowded path it may send little."""


@dataclass(frozen=True)
class Round:
    """The result of a round.

    Attributes:
        elephants: the flows that were placed.
        moved: number of elephants with another path than before, without those that had none.
        strangers: number of flows of hosts that the network does not have.
        put: entries to add; each replaces the entry of the same flow on the same switch.
        deleted: entries to delete, because their flows no longer take this path.
    """

    elephants: tuple[FiveTuple, ...]
    moved: int
    strangers: int
    put: tuple[ScheduledEntry, ...]
    deleted: tuple[ScheduledEntry, ...]


class ElephantSchedule:
    """The elephants that the scheduler has placed, with their labels and entries; `run` does one round.

    Entries of flows that have ended are left to their idle timeout.
    """

    def __init__(self, centre: DataCentre, placement: Placement, routing: Routing | None = None) -> None:
        """Begin with a routing of the whole network, which is found if it is not given."""
        self._centre = centre
        self._placement = placement
        self._routing = Routing(centre) if routing is None else routing
        self._capacity = centre.fabric.capacity.copy()
        self._labels: dict[FiveTuple, int] = {}
        self._entries: dict[tuple[str, FiveTuple], ScheduledEntry] = {}
        self._forgotten: set[str] = set()

    def follow(self, routing: Routing, failed: Collection[Cable]) -> None:
        """Place flows on the remaining network from the next round on, and put their entries again.

        The groups that entries use change with the routing, and deleting a group deletes its entries.
        """
        self._routing = routing
        links = self._centre.topology.links
        dead = np.array([frozenset(link.ends) in failed for link in links])
        self._capacity = np.where(dead, 0.0, self._centre.fabric.capacity)
        self._entries.clear()

    def group_of(self, switch: str, flow: FiveTuple) -> int | None:
        """Return the group to which the entry of an elephant at a switch sends it, None if it has no entry there."""
        entry = self._entries.get((switch, flow))
        return None if entry is None else entry.group_id

    def forget(self, switch: str) -> None:
        """Forget the entries of a switch that has lost them, or may have; a switch can cause this at any rate."""
        self._forgotten.add(switch)

    def run(self, rates: Mapping[FiveTuple, float]) -> Round:
        """Place the elephants among flows that send at these rates, in Mbit/s."""
        if self._forgotten:
            self._entries = {key: entry for key, entry in self._entries.items() if key[0] not in self._forgotten}
            self._forgotten.clear()
        elephants, hosts, strangers = self._elephants(rates)
        labels = self._place(elephants, hosts)
        wanted: dict[tuple[str, FiveTuple], ScheduledEntry] = {}
        for flow, ends, label in zip(elephants, hosts, labels, strict=True):
            if label != HASHED:
                wanted.update(((entry.switch, flow), entry) for entry in self._entries_of(flow, ends, label))
        still = set(elephants)
        put = tuple(entry for key, entry in wanted.items() if self._entries.get(key) != entry)
        deleted = tuple(entry for key, entry in self._entries.items() if key[1] in still and key not in wanted)
        before = self._labels
        self._labels = dict(zip(elephants, labels, strict=True))
        self._entries = wanted
        moved = sum(before.get(flow, HASHED) not in (HASHED, label) for flow, label in self._labels.items())
        return Round(tuple(elephants), moved, strangers, put, deleted)

    def _elephants(self, rates: Mapping[FiveTuple, float]) -> tuple[list[FiveTuple], list[tuple[int, int]], int]:
        """Return the flows to place, their hosts, and the number of flows of unknown hosts."""
        nic_rate = self._centre.fabric.nic_rate
        found, hosts, strangers = [], [], 0
        for flow, rate in rates.items():
            share = MOUSE if flow in self._labels else ELEPHANT
            source, target = self._centre.host_at(flow.source), self._centre.host_at(flow.target)
            if source is None or target is None:
                strangers += 1
            elif rate > share * nic_rate and source != target:
                found.append(flow)
                hosts.append((source, target))
        return found, hosts, strangers

    def _place(self, elephants: list[FiveTuple], hosts: list[tuple[int, int]]) -> list[int]:
        if not elephants:
            return []
        source, target = np.array(hosts, np.int32).T.copy()
        before: Ints = np.array([self._labels.get(flow, HASHED) for flow in elephants], np.int32)
        labels = place_by_demand(self._placement, self._centre.fabric, source, target, before, self._capacity)
        found: list[int] = labels.tolist()
        return found

    def _entries_of(self, flow: FiveTuple, ends: tuple[int, int], label: int) -> list[ScheduledEntry]:
        """Return an entry for each switch on the path that has a choice; none if the routing lacks the path."""
        wiring = self._centre.wiring
        path = self._centre.switch_path(self._centre.fabric.path(*ends, label))
        entries = []
        for switch, following in pairwise(path):
            hops = self._routing.next_hops(switch, path[-1])
            port = wiring.port(switch, following)
            if hops is None or port not in hops.ports:
                return []
            if len(hops.ports) > 1:
                entries.append(ScheduledEntry(switch, flow, hops.failover_id(port)))
        return entries
