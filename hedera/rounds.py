"""One round of the scheduler: rates of flows to the entries that switches should have, and what that changes; pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hedera.data_centre import DataCentre
from hedera.fabric import HASHED, Ints
from hedera.flows import FlowKey, ScheduledEntry
from hedera.placement.interface import Placement
from hedera.scheduling_round import ELEPHANT, place_by_demand
from hedera.tables import Cable, Routing

MOUSE = ELEPHANT / 2
"""An elephant stays one until it sends less than this: on a crowded path it may have to do with little."""


@dataclass(frozen=True)
class Round:
    """What a round has found.

    Attributes:
        elephants: the flows that were placed.
        moved: how many of them have another path than before, not counting those that had none.
        strangers: flows of hosts that the network does not have.
        put: entries to add, in place of those of the same flow on the same switch.
        deleted: entries that lead flows where they should not go any more.
    """

    elephants: tuple[FlowKey, ...]
    moved: int
    strangers: int
    put: tuple[ScheduledEntry, ...]
    deleted: tuple[ScheduledEntry, ...]


class Rounds:
    """What the scheduler remembers from one round to the next: the elephants, their labels, their entries.

    Entries of flows that have ended are left to their idle timeout.
    """

    def __init__(self, centre: DataCentre, placement: Placement) -> None:
        self._centre = centre
        self._placement = placement
        self._routing = Routing(centre)
        self._capacity = centre.fabric.capacity.copy()
        self._labels: dict[FlowKey, int] = {}
        self._entries: dict[tuple[str, FlowKey], ScheduledEntry] = {}

    def follow(self, routing: Routing, failed: Collection[Cable]) -> None:
        """Place flows on what is left of the network from the next round on, and put their entries anew.

        The groups that entries use change with the routing, and with a group its entries go.
        """
        self._routing = routing
        links = self._centre.topology.links
        dead = np.array([frozenset(link.ends) in failed for link in links])
        self._capacity = np.where(dead, 0.0, self._centre.fabric.capacity)
        self._entries.clear()

    def forget(self, switch: str) -> None:
        """The switch has lost its entries, or is to be taken to have."""
        self._entries = {key: entry for key, entry in self._entries.items() if key[0] != switch}

    def run(self, rates: Mapping[FlowKey, float]) -> Round:
        """Place the elephants among flows that send at these rates, in Mbit/s."""
        elephants, hosts, strangers = self._elephants(rates)
        labels = self._place(elephants, hosts)
        wanted: dict[tuple[str, FlowKey], ScheduledEntry] = {}
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

    def _elephants(self, rates: Mapping[FlowKey, float]) -> tuple[list[FlowKey], list[tuple[int, int]], int]:
        """The flows to place, the hosts they are between, and how many flows are of no host of ours."""
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

    def _place(self, elephants: list[FlowKey], hosts: list[tuple[int, int]]) -> list[int]:
        if not elephants:
            return []
        source, target = np.array(hosts, np.int32).T.copy()
        before: Ints = np.array([self._labels.get(flow, HASHED) for flow in elephants], np.int32)
        labels = place_by_demand(self._placement, self._centre.fabric, source, target, before, self._capacity)
        found: list[int] = labels.tolist()
        return found

    def _entries_of(self, flow: FlowKey, ends: tuple[int, int], label: int) -> list[ScheduledEntry]:
        """One for each switch on the flow's path that has a choice; none if the path is not one of the routing's."""
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
