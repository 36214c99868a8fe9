"""A simulated network of counters: packets move along tunnels through queues with strict priority, and may vanish."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field

from kuijia_app.control.sliced_work import at_once
from kuijia_app.control.snapshot import PortCounters, QueueCounters, Snapshot
from kuijia_app.control.tunnel_counters import CountedHop, CountedStream, TunnelCounters
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from te_solver.model.plan import Plan

TICK = 0.01
"""Seconds of a step."""

FRAME = 1000
"""Bytes of every frame."""

Place = tuple[str, int]
"""Switch and port."""


@dataclass
class CountedNetwork:
    """Counters of the switches of a plan.

    Attributes:
        vanishes: for a stream and the position of a hop, the share of its packets that vanish before the entry.
        lossy_links: for two neighbours, the share of all frames that vanish between them.
        filters: for two neighbours, the share of frames that a filter of the sender drops before its port sends them.
        stray_drops: mean seconds between two packets that every port says to have dropped, though no queue is full.
        others: frames a second that every port of a link sends, and that no entry of ours counts.
        delay: seconds that a frame takes over a link.
        room: packets that a queue holds.
        counts_queues: False for switches without counters of queues.
    """

    plan: Plan
    seed: int
    options: PipelineOptions = field(default_factory=PipelineOptions)
    vanishes: dict[tuple[CountedStream, int], float] = field(default_factory=dict)
    lossy_links: dict[tuple[str, str], float] = field(default_factory=dict)
    filters: dict[tuple[str, str], float] = field(default_factory=dict)
    stray_drops: float = float("inf")
    others: float = 0.0
    delay: float = 0.0
    room: int = 100
    counts_queues: bool = True
    now: float = 0.0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.tables = build_tables(self.plan, self.options)
        self.counters = TunnelCounters()
        at_once(self.counters.adding(self.plan, self.options, self.tables))
        self.streams = {(each.tunnel, queue): each for each in self.counters.streams for queue in each.queues}
        self._groups = {switch: {each.group_id: each for each in its.groups} for switch, its in self.tables.items()}
        self._buckets = {
            switch: {group_id: [0] * len(group.buckets) for group_id, group in groups.items()}
            for switch, groups in self._groups.items()
        }
        self._bucket_of: dict[CountedStream, tuple[int, int]] = {}
        for switch, groups in self._groups.items():
            for group_id, group in groups.items():
                for position, stream in enumerate(self.counters.of_bucket(switch, group)):
                    if stream is not None:
                        self._bucket_of.setdefault(stream, (group_id, position))
        self._entries = {switch: dict.fromkeys(its, 0) for switch, its in self.counters.of_entry.items()}
        self._ports: defaultdict[Place, list[int]] = defaultdict(lambda: [0, 0])
        self._errors: defaultdict[tuple[str, int, int], int] = defaultdict(int)
        self._queued: defaultdict[Place, dict[int, list[tuple[CountedStream, int, int]]]] = defaultdict(dict)
        self._capacity = {
            (hop.sender, hop.out_port): hop.capacity for each in self.streams.values() for hop in each.hops
        }
        self._far = {
            (hop.sender, hop.out_port): (hop.receiver, hop.in_port)
            for each in self.streams.values()
            for hop in each.hops
        }
        self._strays = 0
        self._credit: defaultdict[Place, float] = defaultdict(float)
        self._fresh: defaultdict[CountedStream, int] = defaultdict(int)
        self._under_way: list[tuple[float, CountedStream, int, int]] = []

    def send(self, stream: CountedStream, packets: int) -> None:
        """Let the ingress send packets into a tunnel."""
        group_id, position = self._bucket_of[stream]
        self._buckets[stream.tunnel[0]][group_id][position] += packets
        self._fresh[stream] += packets
        self._queue(stream, 0, packets)

    def send_uncounted(self, hop: CountedHop, frames: int) -> None:
        """Let a port send frames at once that no entry counts, such as those of tables that were just replaced."""
        self._ports[hop.sender, hop.out_port][1] += frames
        self._ports[hop.receiver, hop.in_port][0] += frames

    def lead_to(self, old: CountedStream, new: CountedStream) -> None:
        """Lead traffic to another tunnel as Open vSwitch does: what nobody has read yet counts for the new one."""
        for stream, packets in ((old, -self._fresh[old]), (new, self._fresh[old])):
            group_id, position = self._bucket_of[stream]
            self._buckets[stream.tunnel[0]][group_id][position] += packets
        self._fresh[old] = 0

    def restart_entry(self, stream: CountedStream, position: int) -> None:
        """Let an entry count from 0 again, as if it were installed again."""
        hop = stream.hops[position]
        self._entries[hop.receiver][hop.entries[0]] = 0

    def restart_group(self, stream: CountedStream) -> None:
        """Let the buckets of a group count from 0 again, as if it were modified."""
        group_id, _ = self._bucket_of[stream]
        buckets = self._buckets[stream.tunnel[0]]
        buckets[group_id] = [0] * len(buckets[group_id])

    def tick(self) -> None:
        """Let time pass: links carry what fits, by the order of queues."""
        self.now += TICK
        if self.stray_drops < float("inf"):
            self._strays += self.random.random() < TICK / self.stray_drops
        for place, queues in list(self._queued.items()):
            budget = self._credit[place] + self._capacity[place] * 1e6 / 8 * TICK / (FRAME + 24)
            for queue in sorted(queues):
                waiting = queues[queue]
                while waiting and budget >= 1:
                    stream, position, packets = waiting[0]
                    moved = min(packets, int(budget))
                    budget -= moved
                    if moved == packets:
                        del waiting[0]
                    else:
                        waiting[0] = stream, position, packets - moved
                    self._leave(stream, position, moved)
            self._credit[place] = budget if any(queues.values()) else min(budget, 1.0)
        due = [each for each in self._under_way if each[0] <= self.now]
        self._under_way = [each for each in self._under_way if each[0] > self.now]
        for _, stream, position, packets in due:
            self._arrive(stream, position, packets)
        if self.others:
            for place, far in self._far.items():
                frames = int(self.others * TICK + self.random.random())
                self._ports[place][1] += frames
                self._ports[far][0] += frames

    def snapshot(self, switch: str) -> Snapshot:
        """Return the counters of a switch as they are now."""
        for stream in [stream for stream in self._fresh if stream.tunnel[0] == switch]:
            del self._fresh[stream]
        ports = {
            port: PortCounters(received, sent, sent * FRAME, 0, self._strays, 0, 0)
            for (its, port), (received, sent) in self._ports.items()
            if its == switch
        }
        queues = {
            (hop_port, queue): QueueCounters(0, self._errors[switch, hop_port, queue])
            for its, hop_port in self._capacity
            if its == switch
            for queue in range(3)
        }
        return Snapshot(
            switch,
            self.now,
            self.now,
            {},
            dict(self._entries.get(switch, {})),
            self._groups[switch],
            {group_id: tuple(counts) for group_id, counts in self._buckets[switch].items()},
            ports,
            queues if self.counts_queues else None,
        )

    def _queue(self, stream: CountedStream, position: int, packets: int) -> None:
        hop, queue = stream.hops[position], min(stream.queues)
        place = hop.sender, hop.out_port
        waiting = self._queued[place].setdefault(queue, [])
        room = self.room - sum(each[2] for each in waiting)
        dropped = max(0, packets - max(room, 0))
        self._errors[hop.sender, hop.out_port, queue] += dropped
        if packets > dropped:
            waiting.append((stream, position, packets - dropped))

    def _leave(self, stream: CountedStream, position: int, packets: int) -> None:
        hop = stream.hops[position]
        packets = self._survivors(packets, self.filters.get((hop.sender, hop.receiver), 0.0))
        self._ports[hop.sender, hop.out_port][1] += packets
        if self.delay:
            self._under_way.append((self.now + self.delay, stream, position, packets))
        else:
            self._arrive(stream, position, packets)

    def _arrive(self, stream: CountedStream, position: int, packets: int) -> None:
        hop = stream.hops[position]
        packets = self._survivors(packets, self.lossy_links.get((hop.sender, hop.receiver), 0.0))
        self._ports[hop.receiver, hop.in_port][0] += packets
        packets = self._survivors(packets, self.vanishes.get((stream, position), 0.0))
        self._entries[hop.receiver][hop.entries[0]] += packets
        if packets and position + 1 < len(stream.hops):
            self._queue(stream, position + 1, packets)

    def _survivors(self, packets: int, share: float) -> int:
        if share in (0.0, 1.0):
            return 0 if share else packets
        return sum(self.random.random() >= share for _ in range(packets))
