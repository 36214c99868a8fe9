"""Flows as switches distinguish them, and their rates from counters of edge switches; pure, with the time passed in.

What each cable carries is counted by the ports at its ends, in the form in which tunnels are counted: entries of a
fabric match destinations, so none of them says over which cable a packet came. What the near port of a cable has sent,
the far one receives. What waits in a queue or is dropped there has not been sent.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from kuijia_app.control.liveness import Tunnel
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.snapshot import Snapshot
from kuijia_app.control.tunnel_counters import CountedHop, CountedStream, TunnelCounters
from kuijia_app.framework.switch_limits import MOST_ENTRIES, SwitchFaultError
from kuijia_app.tables.families import Address
from kuijia_app.tables.rules import Bucket, Group, GroupType, Match, Output
from kuijia_app.tables.wiring import Wiring

TCP, UDP = 6, 17
"""IP protocol numbers."""


@dataclass(frozen=True, slots=True)
class FiveTuple:
    """The 5-tuple that all packets of a flow share."""

    source: Address
    target: Address
    protocol: int
    source_port: int
    target_port: int


@dataclass(frozen=True, slots=True)
class ScheduledEntry:
    """An entry that sends a flow's packets to a group: first the chosen port, then another path if that port fails."""

    switch: str
    flow: FiveTuple
    group_id: int


WINDOW = 1.0
"""Minimum seconds over which a rate is averaged: Open vSwitch updates counters every half second only."""

LEAST_PATIENCE = 2.0
"""Minimum seconds that a switch may take to answer: a busy one may be slow."""

_PATIENT_POLLS = 3
"""Periods without an answer after which the flows of a switch are forgotten."""


@dataclass(frozen=True, slots=True)
class CounterReading:
    """A flow's counter: bytes since the switch began to count it, `age` seconds before."""

    flow: FiveTuple
    byte_count: int
    age: float


@dataclass
class _Counter:
    """Byte counts in order of time, of the last `WINDOW` and the one before."""

    seen: deque[tuple[float, int]] = field(default_factory=deque)
    rate: float = 0.0
    is_missing: bool = False

    def read(self, at: float, reading: CounterReading) -> None:
        if self.seen and reading.byte_count < self.seen[-1][1]:
            # The switch has restarted the counter. The last rate holds until there is a new one.
            self.seen.clear()
            self.seen.append((at, reading.byte_count))
            return
        if not self.seen and reading.age > 0:
            self.seen.append((at - reading.age, 0))
        self.seen.append((at, reading.byte_count))
        while len(self.seen) > 2 and self.seen[1][0] <= at - WINDOW:
            self.seen.popleft()
        (begin, before), (end, now) = self.seen[0], self.seen[-1]
        if end > begin:
            self.rate = (now - before) * 8 / 1e6 / max(end - begin, WINDOW)


@dataclass
class _Switch:
    asked_at: float | None = None
    is_silent: bool = False
    read: int = 0
    reading: dict[FiveTuple, CounterReading] = field(default_factory=dict)
    counters: dict[FiveTuple, _Counter] = field(default_factory=dict)


class Polls:
    """The rates of the flows that edge switches count, from their answers to successive polls.

    A counter that jumps back (the switch has restarted, or has forgotten the flow and learned it again) never gives a
    negative rate, and one that jumps ahead never gives more than `most_rate`, the Mbit/s of a host's interface. The
    counters of a switch are forgotten when it owes an answer for more than `patience` seconds.
    """

    def __init__(self, most_rate: float, patience: float = LEAST_PATIENCE) -> None:
        self._most_rate = most_rate
        self._patience = patience
        self._switches: dict[str, _Switch] = {}

    @classmethod
    def every(cls, period: float, most_rate: float) -> Polls:
        """Return the polls of a scheduler that asks every `period` seconds."""
        return cls(most_rate, max(_PATIENT_POLLS * period, LEAST_PATIENCE))

    def ask(self, switch: str, at: float) -> bool:
        """Return True if the switch should be polled now; while it owes an answer, only after `patience` seconds."""
        state = self._switches.setdefault(switch, _Switch())
        if state.asked_at is not None:
            if at - state.asked_at <= self._patience:
                return False
            state.is_silent = True
            state.counters, state.reading, state.read = {}, {}, 0
        state.asked_at = at
        return True

    def answered(self, switch: str, at: float, readings: Iterable[CounterReading], *, more: bool) -> None:
        """Take a part of an answer; `more` is True if parts follow.

        A flow missing from two whole answers in a row is forgotten. Open vSwitch learns one whose entry somebody has
        deleted again within half a second; until then the last rate holds.

        Raises:
            SwitchFaultError: the answer has too many parts or flows.
        """
        state = self._switches.setdefault(switch, _Switch())
        before = len(state.reading)
        state.reading.update((reading.flow, reading) for reading in readings)
        # Also parts that bring nothing new could go on without an end.
        state.read += max(1, len(state.reading) - before)
        if state.read > MOST_ENTRIES:
            raise SwitchFaultError(f"it counts more than {MOST_ENTRIES} flows")
        if more:
            return
        state.read = 0
        whole, state.reading = state.reading, {}
        state.asked_at, state.is_silent = None, False
        missing = {flow: counter for flow, counter in state.counters.items() if flow not in whole}
        state.counters = {flow: state.counters.get(flow, _Counter()) for flow in whole}
        for flow, reading in whole.items():
            state.counters[flow].is_missing = False
            state.counters[flow].read(at, reading)
        state.counters |= {flow: counter for flow, counter in missing.items() if not counter.is_missing}
        for counter in missing.values():
            counter.is_missing = True

    def gone(self, switch: str) -> None:
        """Forget a switch that is no longer connected."""
        self._switches.pop(switch, None)

    @property
    def silent(self) -> frozenset[str]:
        """The switches whose answer is overdue."""
        return frozenset(name for name, state in self._switches.items() if state.is_silent)

    def rates(self) -> Mapping[FiveTuple, float]:
        """Return the rate of every flow in Mbit/s."""
        return {
            flow: min(counter.rate, self._most_rate)
            for state in self._switches.values()
            for flow, counter in state.counters.items()
        }


_UNCOUNTED = (1 << 64) - 1
"""Counter of a switch that does not count this (OpenFlow 1.3.5, 7.3.5.6)."""


class LinkCounters(TunnelCounters):
    """One stream for each direction of each cable; its tunnel is the sending switch with its port."""

    def __init__(self, wiring: Wiring) -> None:
        """Begin with the cables between switches."""
        super().__init__()
        self._of_port: dict[tuple[str, int], CountedStream] = {}
        self._into: defaultdict[str, dict[int, CountedStream]] = defaultdict(dict)
        self._groups: defaultdict[str, dict[int, Group]] = defaultdict(dict)
        self._silent: dict[str, frozenset[Tunnel]] = {}
        capacity = {link.ends[::-1]: link.capacity for link in wiring.topology.links}  # the way back of one-way links
        capacity.update((link.ends, link.capacity) for link in wiring.topology.links)
        for ends in wiring.topology.edges:
            for sender, receiver in (ends, ends[::-1]):
                out_port, in_port = wiring.port(sender, receiver), wiring.port(receiver, sender)
                entry = FlowKey(0, 0, Match(in_port=in_port))
                hop = CountedHop(sender, out_port, receiver, in_port, capacity[sender, receiver], (entry,))
                stream = CountedStream((sender, out_port), frozenset(), may_be_full=False, hops=(hop,))
                self.of_entry.setdefault(receiver, {})[entry] = stream, 0
                self.of_mark[sender, (Output(out_port),)] = stream
                self._of_port[sender, out_port] = self._into[receiver][in_port] = stream
                bucket = Bucket((Output(out_port),))
                self._groups[sender][out_port] = Group(out_port, GroupType.SELECT, (bucket,))

    def of_bucket(self, ingress: str, group: Group) -> tuple[CountedStream | None, ...]:
        """Return the stream of the port that a group of `counted` stands for."""
        return (self._of_port.get((ingress, group.group_id)),)

    def named(self, stream: CountedStream) -> str:
        """Return what a cable carries, in words."""
        del stream  # the ends of the cable follow
        return "frames"

    @property
    def uncounted(self) -> frozenset[Tunnel]:
        """The streams of which an end does not count frames, as of the last snapshots: nothing can be said of them."""
        return frozenset[Tunnel]().union(*self._silent.values())

    def counted(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot of a switch with the frames of its ports in place of what entries and buckets count."""
        switch = snapshot.switch
        out = {port: each.sent for port, each in snapshot.ports.items() if port in self._groups[switch]}
        into = {port: each.received for port, each in snapshot.ports.items() if port in self._into[switch]}
        silent = [self._of_port[switch, port].tunnel for port in self._groups[switch] if not _counts(out.get(port))]
        silent += [stream.tunnel for port, stream in self._into[switch].items() if not _counts(into.get(port))]
        self._silent[switch] = frozenset(silent)
        return replace(
            snapshot,
            packets={
                stream.hops[0].entries[0]: into[port] for port, stream in self._into[switch].items() if port in into
            },
            groups=self._groups[switch],
            buckets={port: (frames,) for port, frames in out.items()},
            queues=None,
        )


def _counts(frames: int | None) -> bool:
    return frames is not None and frames != _UNCOUNTED
