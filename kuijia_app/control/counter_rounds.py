"""Compares rounds of counters and learns what they show without a loss: their noise, delays, frames of others; pure.

A packet that a switch has sent and the next one has not counted may be under way, wait in a queue, be dropped by a full
one, or be counted later. What arrives beyond what was sent shows how much of this there is: a loss never looks so.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from kuijia_app.control.liveness import Port
from kuijia_app.control.snapshot import Snapshot
from kuijia_app.control.tunnel_counters import CountedHop, CountedStream, TunnelCounters
from kuijia_app.tables.rules import Group, Match

LEAST_SKEW = 0.02
"""Seconds by which two switches' counters may differ in age."""

MARGIN = 1.5
"""Factor by which the next difference may exceed those that were seen. What arrives beyond what was sent shows how much
is under way at times, or counted late: a loss never looks like that."""

HALF_LIFE = 120.0
"""Seconds in which what surpluses have shown falls to the half."""

MOVED_HALF_LIFE = 2.0
"""The same for a surplus that was taken for packets of another tunnel."""

LEAST_TELLING = 50
"""Packets of a stream in a round from which on a surplus shows that counters differ in age."""

MEAN_HALF_LIFE, OTHERS_HALF_LIFE = 5.0, 20.0
"""Seconds in which the weight of a round falls to the half, in the mean rate of frames that no entry of ours counts,
and in which what is known of their greatest rate does."""

LEAST_WEIGHT = 0.4
"""Weight of rounds in that mean from which on it is known: before, all frames may be those of others."""

LATELY, LEAST_SHARED = 6, 2.0
"""Rounds in which a loss should be found, and frames a second of others from which on they count."""

OTHERS_MARGIN = 1.2
"""Factor by which there may be more of these frames than were seen."""

SLACK = 3
"""Packets that may be missing from any window."""

FULL = 0.9
"""Share of a link's capacity from which on its queues may hold packets back."""

LONGEST_ROUND = 4.0
"""Seconds between two polls beyond which their difference is not judged: much may have happened."""

_STEP = 300
"""Counters of entries that are compared in a step of a task."""

_FRAME_OVERHEAD = 24
"""Bytes that a frame takes on the wire beyond those that ports count: preamble, check sequence, gap (IEEE 802.3)."""


@dataclass(frozen=True, slots=True)
class QueueState:
    """State of a stream's queue before a hop in a round.

    Attributes:
        vanished: packets of all streams that vanished after the port before the hop had sent them.
        doubt: those of them that may be under way instead.
        is_obscured: True if the queue may have dropped packets uncounted, or held them back.
        dropped: packets that the port or the queue has dropped, as it says.
        on_link: frames that the port has sent and the next one has not received; None if that is unknown.
    """

    vanished: float
    doubt: float
    is_obscured: bool
    dropped: int = 0
    on_link: int | None = None


@dataclass(frozen=True, slots=True)
class _PortState:
    """State of all queues of a port: by entries after it, which frames of others do not match, or by the next port.

    `is_shared` is True if others send frames over the link too, or may.
    """

    of_queue: QueueState
    on_link: QueueState
    is_shared: bool


@dataclass(slots=True)
class _Mean:
    """Mean rate of the last rounds; `weight` is that of all of them, which grows to 1."""

    total: float = 0.0
    weight: float = 0.0

    def with_round(self, frames: float, seconds: float) -> float:
        """Add a round; return the mean."""
        old = 0.5 ** (seconds / MEAN_HALF_LIFE)
        self.total = old * self.total + (1 - old) * frames / seconds
        self.weight = old * self.weight + 1 - old
        return self.value

    @property
    def value(self) -> float:
        """The mean, a low one while a single round would make most of it."""
        return self.total / max(self.weight, 0.5)


@dataclass(slots=True)
class CounterRound:
    """Counters of one round, less those of the round before.

    Attributes:
        before, now: snapshots of the switches at its beginning and at its end.
        counts: for each stream with packets, those at its ingress and at each hop.
        restarted: streams with a counter that began again.
        arrived: packets of all our entries for one port.
        unclear: ports with an entry whose counter began again.
        missing: packets of streams in some queues of a port that the far end has not counted.
        unknown: ports for which a stream's counter has begun again.
        ports: state of each port that was compared with the far end's entries already.
        lag: seconds by which some counters are seen to be older than others, as on a machine that is too busy.
    """

    seconds: float
    before: Mapping[str, Snapshot]
    now: Mapping[str, Snapshot]
    counts: dict[CountedStream, list[int]] = field(default_factory=dict)
    restarted: set[CountedStream] = field(default_factory=set)
    arrived: defaultdict[tuple[str, int | None], int] = field(default_factory=lambda: defaultdict(int))
    unclear: set[tuple[str, int | None]] = field(default_factory=set)
    missing: dict[Port, dict[frozenset[int], int]] = field(default_factory=dict)
    unknown: set[Port] = field(default_factory=set)
    ports: dict[Port, _PortState] = field(default_factory=dict)
    lag: float = 0.0


class CounterRounds:
    """Rounds of snapshots of all switches, each taken at about the same time, and what they have taught."""

    def __init__(self) -> None:
        """Begin without streams."""
        self._counters = TunnelCounters()
        self._before: Mapping[str, Snapshot] = {}
        self._under_way: dict[CountedStream, float] = {}
        self._under_way_at: defaultdict[Port, float] = defaultdict(float)
        self._waiting: dict[CountedStream, float] = {}
        self._moved: dict[CountedStream, float] = {}
        self._mean_others: defaultdict[Port, _Mean] = defaultdict(_Mean)
        self._most_others: defaultdict[Port, float] = defaultdict(float)
        self._unmatched: defaultdict[Port, _Mean] = defaultdict(_Mean)
        self._lately_unmatched: defaultdict[Port, deque[tuple[int, float]]] = defaultdict(deque)
        self._buckets: dict[str, dict[int, tuple[Group | None, tuple[CountedStream | None, ...]]]] = {}

    def follow(self, counters: TunnelCounters) -> None:
        """Compare the counters of these streams from now on."""
        streams = counters.streams
        self._counters = counters
        self._buckets.clear()
        for learned in (self._under_way, self._waiting, self._moved):
            for stream in [stream for stream in learned if stream not in streams]:
                del learned[stream]

    def restart(self, switch: str) -> None:
        """Begin with the next counters of a switch."""
        self._before = {its: snapshot for its, snapshot in self._before.items() if its != switch}

    def taking(self, now: Mapping[str, Snapshot]) -> Generator[None, None, CounterRound | None]:
        """Return the task that takes in snapshots of all switches and returns how their counters have moved.

        It returns None if the round before is too long ago.
        """
        before, self._before = self._before, dict(now)
        both = [(before[switch], now[switch]) for switch in now if switch in before]
        seconds = max((new.asked_at - old.asked_at for old, new in both), default=math.inf)
        if not 0 < seconds <= LONGEST_ROUND:
            return None
        moves = CounterRound(seconds, before, now)
        for old, new in both:
            yield from self._add_entries(moves, old, new)
            yield from self._add_buckets(moves, old, new)
        seen = {new.switch for _, new in both}
        for stream in moves.counts:
            if not seen.issuperset((stream.tunnel[0], *(hop.receiver for hop in stream.hops))):
                moves.restarted.add(stream)
        yield
        self._put_right(moves)
        moves.lag = _lag(moves)
        _add_missing(moves)
        return moves

    def queue_before(self, stream: CountedStream, hop: CountedHop, moves: CounterRound) -> QueueState:
        """Return the state of the stream's queue before a hop."""
        place = hop.sender, hop.out_port
        port = moves.ports.get(place)
        if port is None:
            port = moves.ports[place] = self._port_before(hop, moves)
        if hop.sender not in moves.before or hop.sender not in moves.now:
            return port.of_queue
        dropped = _dropped_by_queues(stream, hop, moves.before[hop.sender], moves.now[hop.sender])
        if dropped is None:
            # Frames of others look like packets that vanish in the next switch, while nobody knows what a queue drops.
            return replace(port.on_link, is_obscured=True)
        is_starved = stream.may_be_full and _drops(hop, moves.before[hop.sender], moves.now[hop.sender])
        is_obscured = port.of_queue.is_obscured or is_starved
        queue = max(port.of_queue, port.on_link, key=lambda state: state.vanished - state.doubt)
        if port.is_shared and is_obscured:
            queue = port.on_link
        return replace(queue, is_obscured=is_obscured, dropped=max(dropped, queue.dropped))

    def _port_before(self, hop: CountedHop, moves: CounterRound) -> _PortState:
        """Return the same for all queues of the port, without what a single one tells."""
        old, new = moves.before.get(hop.sender), moves.now.get(hop.sender)
        unknown = QueueState(0, 0.0, is_obscured=True)
        if old is None or new is None or (hop.receiver, hop.in_port) in moves.unclear:
            return _PortState(unknown, unknown, is_shared=True)
        ports = old.ports.get(hop.out_port), new.ports.get(hop.out_port)
        if ports[0] is None or ports[1] is None:
            return _PortState(unknown, unknown, is_shared=True)
        frames = ports[1].sent - ports[0].sent
        arrived = moves.arrived[hop.receiver, hop.in_port]
        vanished, on_link = frames - arrived, _lost_on_link(hop, frames, arrived, moves)
        place = hop.sender, hop.out_port
        faded = 0.5 ** (moves.seconds / HALF_LIFE)
        surplus = -min(vanished, on_link or 0)
        self._under_way_at[place] = max(self._under_way_at[place] * faded, MARGIN * surplus)
        doubt = max(LEAST_SKEW * frames / moves.seconds, self._under_way_at[place]) + SLACK
        sent_bytes = ports[1].sent_bytes - ports[0].sent_bytes + _FRAME_OVERHEAD * frames
        dropped = ports[1].sent_dropped - ports[0].sent_dropped
        least = max(0.0, moves.seconds - moves.lag)  # what late counters may be of
        is_obscured = dropped < 0 or not 0 <= sent_bytes * 8e-6 < FULL * hop.capacity * least
        others = self._others_at(place, vanished, doubt, _missing_undropped(moves, place, old, new), moves.seconds)
        unsure = math.inf if self._mean_others[place].weight < LEAST_WEIGHT else doubt
        is_shared = self._is_shared(place, vanished - (on_link or 0), frames, moves.seconds)
        of_queue = QueueState(vanished - others * moves.seconds, unsure, is_obscured, dropped, on_link)
        known = (0, math.inf) if on_link is None else (on_link, doubt)
        return _PortState(of_queue, QueueState(*known, is_obscured, dropped, on_link), is_shared)

    def _is_shared(self, place: Port, unmatched: int, frames: int, seconds: float) -> bool:
        """Return True if the switch after a port has received frames for a while that no entry of ours counts.

        The latest ones may be packets of ours that have begun to vanish there.
        """
        lately, mean = self._lately_unmatched[place], self._unmatched[place]
        lately.append((unmatched, seconds))
        rate = mean.with_round(*lately.popleft()) if len(lately) > LATELY else mean.value
        return mean.weight < LEAST_WEIGHT or rate > LEAST_SHARED + LEAST_SKEW / 2 * frames / seconds

    def _others_at(self, place: Port, vanished: int, doubt: float, lost: int | None, seconds: float) -> float:
        """Return how many frames a second a port may send that no entry of ours counts, such as those of others.

        What has vanished after the port is missing from streams as well: the rest is none of ours. Packets in queues
        cancel out in the mean. `lost` is as `_missing_undropped` returns it.
        """
        most: float = self._most_others[place] * 0.5 ** (seconds / OTHERS_HALF_LIFE)
        if lost is not None:
            mean = self._mean_others[place].with_round(vanished - lost, seconds)
            most = max(most, mean, (vanished - doubt - max(0, lost)) / seconds)
        self._most_others[place] = most
        return OTHERS_MARGIN * most

    def learn(self, stream: CountedStream, counts: list[int], seconds: float) -> None:
        """Learn from surpluses how many packets may be under way."""
        surplus = max(arrived - sent for sent, arrived in pairwise(counts))
        known = self._under_way.get(stream, 0.0)
        if known or surplus > 0:
            self._under_way[stream] = max(known * 0.5 ** (seconds / HALF_LIFE), MARGIN * surplus)

    def noise(self, stream: CountedStream, peak: float) -> float:
        """Return the packets that may seem to be missing after any hop, at a rate of `peak` packets a second."""
        return max(LEAST_SKEW * peak, self._under_way.get(stream, 0.0)) + SLACK

    def _put_right(self, moves: CounterRound) -> None:
        """Count packets for the tunnels that have carried them.

        Open vSwitch adds packets that a datapath flow has carried to the buckets that the flow would use now. When
        traffic moves to another tunnel of its pair, those since the last update are missing from the bucket that sent
        them, and seem to vanish after the other. What one tunnel has too little, the others then have too much. What a
        tunnel has too much because its own packets waited in a queue before is not theirs.
        """
        by_ends: defaultdict[tuple[str, str], list[CountedStream]] = defaultdict(list)
        for stream in moves.counts:
            by_ends[stream.tunnel[0], stream.hops[-1].receiver].append(stream)
        for streams in by_ends.values():
            known = [stream for stream in streams if stream not in moves.restarted]
            for stream in known:
                self._balance(stream, moves)
            off = {stream: self._off(stream, moves.counts[stream], moves.seconds) for stream in known}
            lacking, spare = ([stream for stream in known if off[stream] * sign > 0] for sign in (1, -1))
            lacks, spares = sum(off[stream] for stream in lacking), -sum(off[stream] for stream in spare)
            packets = sum(moves.counts[stream][0] for stream in known)
            if spare and abs(lacks - spares) <= LEAST_SKEW * packets / moves.seconds + SLACK * len(known):
                for stream in (*lacking, *spare):
                    moves.counts[stream][0] -= off[stream]
                self._moved |= {stream: self._moved.get(stream, 0.0) - off[stream] for stream in spare}
                continue
            moved = min(lacks, spares)  # more may come later: surpluses are learned from, too
            for stream in lacking:
                part = min(moved, off[stream])
                moves.counts[stream][0] -= part
                moved -= part
            if len(known) < len(streams):
                moves.restarted.update(lacking)  # the others may have too much
        faded = 0.5 ** (moves.seconds / HALF_LIFE)
        for stream, counts in moves.counts.items():
            waiting = self._waiting.pop(stream, 0.0) * faded + counts[0] - counts[1]
            if waiting > 0 and stream not in moves.restarted:
                self._waiting[stream] = waiting

    def _balance(self, stream: CountedStream, moves: CounterRound) -> None:
        """Take what seems to be missing from what the tunnel had too much shortly before: it was only counted late."""
        counts = moves.counts[stream]
        moved = self._moved.pop(stream, 0.0) * 0.5 ** (moves.seconds / MOVED_HALF_LIFE)
        late = max(0, min(counts[0] - counts[1], int(moved)))
        counts[0] -= late
        if moved - late >= 1:
            self._moved[stream] = moved - late

    def _off(self, stream: CountedStream, counts: list[int], seconds: float) -> int:
        """Return how many packets more an ingress has counted than the first hop, beyond what may be under way."""
        sent, arrived = counts[0], max(counts[1:])
        if arrived <= sent:
            arrived = counts[1]  # behind it, more may be missing; what arrives anywhere has been sent
        if abs(sent - arrived) <= LEAST_SKEW * max(sent, arrived) / seconds + SLACK:
            return 0
        return sent - arrived if sent > arrived else min(sent - arrived + int(self._waiting.get(stream, 0.0)), 0)

    def _add_entries(self, moves: CounterRound, old: Snapshot, new: Snapshot) -> Iterator[None]:
        counted, earlier = self._counters.of_entry.get(new.switch, {}), old.packets
        for number, (key, packets) in enumerate(new.packets.items()):
            if number % _STEP == 0:
                yield
            known = earlier.get(key)
            if packets == known:
                continue
            if isinstance(key.match, Match):
                place = new.switch, key.match.in_port
                if known is None or packets < known:
                    moves.unclear.add(place)
                else:
                    moves.arrived[place] += packets - known
            if key in counted:
                stream, position = counted[key]
                self._note(moves, stream, position + 1, -1 if known is None else packets - known)
        for key in earlier.keys() - new.packets.keys():
            if isinstance(key.match, Match):
                moves.unclear.add((new.switch, key.match.in_port))
            if key in counted:
                moves.restarted.add(counted[key][0])

    def _add_buckets(self, moves: CounterRound, old: Snapshot, new: Snapshot) -> Iterator[None]:
        known = self._buckets.setdefault(new.switch, {})
        for group_id, packets in new.buckets.items():
            earlier = old.buckets.get(group_id)
            if packets == earlier:
                continue
            yield
            group = new.groups.get(group_id)
            if group_id not in known or known[group_id][0] is not group:
                known[group_id] = group, () if group is None else self._counters.of_bucket(new.switch, group)
            same = earlier is not None and len(earlier) == len(packets) and old.groups.get(group_id) == group
            for position, stream in enumerate(known[group_id][1][: len(packets)]):
                if stream is not None:
                    moved = packets[position] - earlier[position] if same and earlier is not None else -1
                    self._note(moves, stream, 0, moved)

    def _note(self, moves: CounterRound, stream: CountedStream, position: int, moved: int) -> None:
        if moved < 0:
            moves.restarted.add(stream)
            return
        counts = moves.counts.get(stream)
        if counts is None:
            counts = moves.counts[stream] = [0] * (len(stream.hops) + 1)
        counts[position] += moved


def _lag(moves: CounterRound) -> float:
    """Return the seconds by which counters differ in age, as more of a stream arrives at a hop than was sent there."""
    lag = 0.0
    for stream, counts in moves.counts.items():
        most = max(counts)
        if most >= LEAST_TELLING and stream not in moves.restarted:
            surplus = max(arrived - sent for sent, arrived in pairwise(counts))
            if surplus > LEAST_SKEW * most / moves.seconds + SLACK:
                lag = max(lag, surplus * moves.seconds / most)
    return lag


def _add_missing(moves: CounterRound) -> None:
    for stream in moves.restarted:
        moves.unknown.update((hop.sender, hop.out_port) for hop in stream.hops)
    for stream, counts in moves.counts.items():
        for hop, (sent, arrived) in zip(stream.hops, pairwise(counts), strict=True):
            of_queues = moves.missing.setdefault((hop.sender, hop.out_port), {})
            of_queues[stream.queues] = of_queues.get(stream.queues, 0) + sent - arrived


def _drops(hop: CountedHop, old: Snapshot, new: Snapshot) -> bool:
    """Return True if a queue before a hop drops packets: then the link is full, and its other queues may starve."""
    if old.queues is None or new.queues is None:
        return False
    return any(
        port == hop.out_port and counters.errors > old.queues.get((port, queue), counters).errors
        for (port, queue), counters in new.queues.items()
    )


def _lost_on_link(hop: CountedHop, sent: int, arrived: int, moves: CounterRound) -> int | None:
    """Return the frames that a port has sent and the next has not received; None if it does not count them all."""
    old, new = moves.before.get(hop.receiver), moves.now.get(hop.receiver)
    if old is None or new is None or hop.in_port not in old.ports or hop.in_port not in new.ports:
        return None
    received = new.ports[hop.in_port].received - old.ports[hop.in_port].received
    return sent - received if received >= arrived else None


def _missing_undropped(moves: CounterRound, place: Port, old: Snapshot, new: Snapshot) -> int | None:
    """Return the packets of streams that are missing after a port, less those that their queues say to have dropped.

    None if that is unknown.
    """
    if place in moves.unknown:
        return None
    of_queues = moves.missing.get(place, {})
    missing, queues = sum(of_queues.values()), {(place[1], queue) for queues in of_queues for queue in queues}
    if old.queues is None or new.queues is None or queues.isdisjoint(new.queues):
        return missing - max(0, new.ports[place[1]].sent_dropped - old.ports[place[1]].sent_dropped)
    counted = queues & new.queues.keys() & old.queues.keys()
    return missing - sum(max(0, new.queues[each].errors - old.queues[each].errors) for each in counted)


def _dropped_by_queues(stream: CountedStream, hop: CountedHop, old: Snapshot, new: Snapshot) -> int | None:
    """Return the packets that the stream's queues before a hop have dropped; None if they may, and nobody counts it."""
    places = [(hop.out_port, queue) for queue in stream.queues]
    if old.queues is None or new.queues is None or new.queues.keys().isdisjoint(places):
        return None if stream.queues else 0
    counted = [place for place in places if place in new.queues and place in old.queues]
    dropped = [new.queues[place].errors - old.queues[place].errors for place in counted]
    return None if any(each < 0 for each in dropped) else sum(dropped)
