"""CONGA on two leaves and two spines, slow and obvious: packets, queues without end, and tables as dictionaries."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from simulator.packet import _core
from simulator.packet.load_balancing import Conga
from simulator.packet.network import Network
from tests.simulator.packet.disciplines import mixed

PICOSECONDS = 10**12


@dataclass
class _Packet:
    flow: int
    source: int
    target: int
    size: int
    uplink: int = -1
    load: int = 0
    report: tuple[int, int] | None = None


@dataclass
class _Heard:
    """The load of a path that packets from another leaf have taken, and the one reported last."""

    level: int
    at: int
    reported: int | None = None


@dataclass
class TwoByTwo:
    """Hosts 0 and 1 at leaf 4, 2 and 3 at leaf 5; spines 6 and 7.

    Attributes:
        begun: transmissions begun on each link by the time of the last run.
        moved: flowlets that took another uplink than the one before.
    """

    network: Network
    rules: Conga
    seed: int
    moved: int = 0
    begun: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def __post_init__(self) -> None:
        self._link = {(link.source, link.target): number for number, link in enumerate(self.network.links)}
        self._random = _core.Random(mixed(self.seed + 0x636F6E6761))
        self._free: dict[int, int] = defaultdict(int)
        self._order = 0
        self._events: list[tuple[int, int, int, _Packet]] = []  # time, order, node, packet
        self._starts: list[tuple[int, int]] = []  # of transmissions: time, link
        self._bytes: dict[int, float] = defaultdict(float)
        self._discounts = 0
        self._flowlets: dict[int, tuple[int, int]] = {}  # flow to uplink and time
        self._known: dict[tuple[int, int], dict[int, tuple[int, int]]] = defaultdict(dict)  # level and time, by uplink
        self._heard: dict[tuple[int, int], dict[int, _Heard]] = defaultdict(dict)
        self._turn: dict[tuple[int, int], int] = defaultdict(int)

    def send(self, flow: int, source: int, target: int, times: Sequence[int], sizes: Sequence[int]) -> None:
        for time, size in zip(times, sizes, strict=True):
            self._happen(time, source, _Packet(flow, source, target, size))

    def run(self, until: int) -> None:
        while self._events and self._events[0][0] <= until:
            time, _, node, packet = heapq.heappop(self._events)
            self._discount(time)
            if node != packet.target:
                self._transmit(self._next(node, packet, time), packet, time)
        for start in [start for start in self._starts if start[0] <= until]:
            self._starts.remove(start)
            self.begun[start[1]] += 1

    def _happen(self, time: int, node: int, packet: _Packet) -> None:
        self._order += 1
        heapq.heappush(self._events, (time, self._order, node, packet))

    def _transmit(self, link: int, packet: _Packet, time: int) -> None:
        rules = self.network.links[link]
        start = max(time, self._free[link])
        self._free[link] = start + math.ceil(packet.size * 8 * PICOSECONDS / (rules.rate * 1e6))
        self._starts.append((start, link))
        self._happen(self._free[link] + round(rules.delay * PICOSECONDS), rules.target, packet)

    def _discount(self, time: int) -> None:
        due = time // round(self.rules.period * PICOSECONDS)
        for _ in range(due - self._discounts):
            for link in self._bytes:
                self._bytes[link] *= 1 - self.rules.discount
        self._discounts = due

    def _next(self, node: int, packet: _Packet, time: int) -> int:
        if node == packet.source:
            return self._link[node, self._leaf(packet.source)]
        if node in (6, 7):
            return self._through(self._link[node, self._leaf(packet.target)], packet)
        if self._leaf(packet.target) != node:
            return self._through(self._depart(node, packet, time), packet)
        if packet.uplink >= 0:
            self._arrive(node, packet, time)
        return self._link[node, packet.target]

    def _depart(self, leaf: int, packet: _Packet, time: int) -> int:
        other = 9 - leaf
        uplinks = [self._link[leaf, 6], self._link[leaf, 7]]
        before, last = self._flowlets.get(packet.flow, (-1, 0))
        if before < 0 or time - last > round(self.rules.gap * PICOSECONDS):
            loads = [max(self._level(link), self._toward(leaf, other, tag, time)) for tag, link in enumerate(uplinks)]
            best = [link for link, load in zip(uplinks, loads, strict=True) if load == min(loads)]
            if before in best:
                link = before
            else:
                link = best[int(self._random.whole(len(best), 1)[0])]
                self.moved += before >= 0
        else:
            link = before
        self._flowlets[packet.flow] = link, time
        packet.uplink = uplinks.index(link)
        packet.report = self._report(leaf, other, time)
        return link

    def _arrive(self, leaf: int, packet: _Packet, time: int) -> None:
        other = 9 - leaf
        heard = self._heard[leaf, other].setdefault(packet.uplink, _Heard(0, 0))
        heard.level, heard.at = packet.load, time
        if packet.report is not None:
            tag, level = packet.report
            self._known[leaf, other][tag] = level, time

    def _report(self, leaf: int, other: int, time: int) -> tuple[int, int] | None:
        heard = self._heard[leaf, other]
        for tag in [tag for tag, each in heard.items() if time - each.at > self._aging]:
            del heard[tag]
        turn = self._turn[leaf, other]
        in_turn = sorted(heard, key=lambda tag: (tag - turn) % 2)
        changed = [tag for tag in in_turn if heard[tag].level != heard[tag].reported]
        for tag in changed or in_turn:
            heard[tag].reported = heard[tag].level
            self._turn[leaf, other] = (tag + 1) % 2
            return tag, heard[tag].level
        return None

    def _toward(self, leaf: int, other: int, tag: int, time: int) -> int:
        level, at = self._known[leaf, other].get(tag, (0, time))
        return level if time - at <= self._aging else 0

    def _through(self, link: int, packet: _Packet) -> int:
        """Count a packet on a link, and the load of the link in the packet."""
        self._bytes[link] += packet.size
        packet.load = max(packet.load, self._level(link))
        return link

    def _level(self, link: int) -> int:
        full = self.network.links[link].rate * 1e6 * self.rules.period / self.rules.discount / 8
        steps = 2**self.rules.bits
        return int(min(self._bytes[link] / full * steps, steps - 1))

    @property
    def _aging(self) -> int:
        return round(self.rules.aging * PICOSECONDS)

    @staticmethod
    def _leaf(host: int) -> int:
        return 4 + host // 2
