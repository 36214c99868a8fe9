"""Finds the hop of a tunnel at which packets vanish, by the counters of its switches; pure.

Packets are conserved: what an ingress sends into a tunnel arrives at each further switch, but for packets under way,
those that wait in a queue or that a full one drops, and counters that are read at different times. A difference that
these do not explain and that goes on is a loss: a black hole if nothing arrives, else a lossy link. Packets in queues
tell themselves apart: their port has not sent them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from kuijia_app.control.liveness import Port, Tunnel
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

LEAST_TELLING = 50
"""Packets of a stream in a round from which on a surplus shows that counters differ in age."""

LONGEST_DELAY = 0.1
"""Seconds that a packet may take over a link. As many more are under way as the rate has grown in that time."""

MEAN_HALF_LIFE, OTHERS_HALF_LIFE = 5.0, 20.0
"""Seconds in which the weight of a round falls to the half, in the mean rate of frames that no entry of ours counts,
and in which what is known of their greatest rate does."""

LEAST_WEIGHT = 0.4
"""Weight of rounds in that mean from which on it is known: before, all frames may be those of others."""

OTHERS_MARGIN = 1.2
"""Factor by which there may be more of these frames than were seen."""

LONGEST_UNSTEADY = 5.0
"""Seconds by which a window may be longer, until its counters do not differ in age any more."""

SLACK = 3
"""Packets that may be missing from any window."""

FULL = 0.9
"""Share of a link's capacity from which on its queues may hold packets back."""

LEAST_LOST = 10
"""Packets that must have vanished before a link counts as lossy."""

LEAST_SILENT = 4
"""Packets that must have vanished before a hop over which nothing arrives counts as a black hole."""

IN_A_ROW = 2
"""Windows in a row that must lose: one may be a failure that others notice."""

UNSENT_IN_A_ROW = 4
"""The same if the sender's port has not sent the missing packets either: they may wait, but not for ever. Bursts nearly
in step with the polls look like a loss for up to three windows."""

LONGEST_ROUND = 4.0
"""Seconds between two polls beyond which their difference is not judged: much may have happened."""

EXPLAINED = 4
"""A quarter of the missing packets: a loss is obscured if the sender's port or queue says to have dropped as many."""

_STEP = 300
"""Counters of entries that are compared in a step of a task."""

_FRAME_OVERHEAD = 24
"""Bytes that a frame takes on the wire beyond those that ports count: preamble, check sequence, gap (IEEE 802.3)."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Length of windows: they end once they have `packets`, after `seconds` at least and `patience` seconds at most."""

    seconds: float
    packets: int
    patience: float


_SPANS = (_Span(0.0, 20, 1.5), _Span(2.0, 100, 6.0), _Span(10.0, 500, 30.0))
"""Short windows find heavy losses soon, long ones find small losses among packets under way."""


@dataclass(frozen=True, slots=True)
class HopLoss:
    """Packets of a tunnel that vanish at a hop.

    Attributes:
        stream: the packets, some or all of a tunnel's.
        hop: the link and the entry after it.
        sent, lost: packets that the sender counted in the window that confirmed it, and those missing after the hop.
        reaches_port: True if the receiver's port has received them, False if not, None if that is unknown.
        spares: True if packets of other tunnels cross the same link unharmed.
    """

    stream: CountedStream
    hop: CountedHop
    sent: int
    lost: int
    reaches_port: bool | None
    spares: bool

    @property
    def tunnel(self) -> Tunnel:
        return self.stream.tunnel

    @property
    def share(self) -> float:
        return self.lost / self.sent


@dataclass(slots=True)
class _Window:
    """Counts of a stream since a time.

    Attributes:
        counts: at the ingress, then at each hop.
        vanished: packets of all streams that vanished after the port before each hop had sent them.
        doubt: those of them that may be under way instead.
        obscured: True for hops whose queue may have dropped packets uncounted, or held them back.
        dropped: packets that the port or the queue before each hop has dropped, as it says.
        rates: packets a second in the last round, at the ingress and at each hop.
    """

    counts: list[int]
    vanished: list[float]
    doubt: list[float]
    obscured: list[bool]
    dropped: list[int]
    rates: list[float]
    seconds: float = 0.0
    peak: float = 0.0

    @classmethod
    def empty(cls, hops: int) -> _Window:
        return cls([0] * (hops + 1), [0.0] * hops, [0.0] * hops, [False] * hops, [0] * hops, [0.0] * (hops + 1))


@dataclass(slots=True)
class _Streak:
    """Windows in a row in which a hop lost packets, and how many of these may be under way instead.

    Attributes:
        vanished: those of the lost packets that the sender's port had sent.
        rate: packets a second before the first of them.
        worst: packets lost and sent in the window that lost most.
        most_vanished: those of the lost packets that the port had sent, and the lost ones, in the window with most.
    """

    windows: int = 0
    sent: int = 0
    lost: int = 0
    vanished: float = 0.0
    doubt: float = 0.0
    noise: float = 0.0
    rate: float = 0.0
    worst: tuple[int, int] = (0, 0)
    most_vanished: tuple[float, int] = (0.0, 0)
    is_obscured: bool = False

    @property
    def has_vanished(self) -> bool:
        """True if most of the missing packets have vanished after the sender's port had sent them.

        Of several windows, those but one must show it: once, a port may have sent what no entry was there to count.
        """
        vanished, lost = self.vanished, self.lost
        if self.windows > 1:
            vanished, lost = vanished - self.most_vanished[0], lost - self.most_vanished[1]
        return vanished - self.doubt >= lost / 2


@dataclass(slots=True)
class _Judged:
    """One stream in windows of one span; `rates` are those at the end of the window before."""

    window: _Window
    streaks: list[_Streak]
    rates: list[float]


@dataclass(frozen=True, slots=True)
class _Queue:
    """State of a stream's queue before a hop in a round: as in `_Window`."""

    vanished: float
    doubt: float
    is_obscured: bool
    dropped: int = 0


@dataclass(slots=True)
class _Mean:
    """Mean rate of the last rounds; `weight` is that of all of them, which grows to 1."""

    total: float = 0.0
    weight: float = 0.0

    def with_round(self, frames: float, seconds: float) -> float:
        """Add a round; return the mean, a low one while a single round would make most of it."""
        old = 0.5 ** (seconds / MEAN_HALF_LIFE)
        self.total = old * self.total + (1 - old) * frames / seconds
        self.weight = old * self.weight + 1 - old
        return self.total / max(self.weight, 0.5)


@dataclass(slots=True)
class _Moves:
    """Counters of one round, less those of the round before.

    Attributes:
        counts: for each stream with packets, those at its ingress and at each hop.
        restarted: streams with a counter that began again.
        arrived: packets of all our entries for one port.
        unclear: ports with an entry whose counter began again.
        missing: packets of streams in some queues of a port that the far end has not counted.
        unknown: ports for which a stream's counter has begun again.
        ports: state of each port that was compared with the far end's entries already.
        is_steady: False if some counters are younger than others, as on a machine that is too busy.
    """

    seconds: float
    counts: dict[CountedStream, list[int]] = field(default_factory=dict)
    restarted: set[CountedStream] = field(default_factory=set)
    arrived: defaultdict[tuple[str, int | None], int] = field(default_factory=lambda: defaultdict(int))
    unclear: set[tuple[str, int | None]] = field(default_factory=set)
    missing: dict[Port, dict[frozenset[int], int]] = field(default_factory=dict)
    unknown: set[Port] = field(default_factory=set)
    ports: dict[Port, _Queue] = field(default_factory=dict)
    is_steady: bool = True


class HopLosses:
    """Judges rounds of snapshots of all switches, each taken at about the same time.

    Attributes:
        suspects: True if the last round showed a loss that the next one will confirm or deny: it should come soon.
    """

    def __init__(self, limit: float) -> None:
        """Begin; `limit` is the share of lost packets above which a hop is lossy: 1 judges black holes alone."""
        self._limit = limit
        self._counters = TunnelCounters()
        self._before: Mapping[str, Snapshot] = {}
        self._judged: dict[tuple[CountedStream, _Span], _Judged] = {}
        self._under_way: dict[tuple[CountedStream, int], float] = {}
        self._under_way_at: defaultdict[Port, float] = defaultdict(float)
        self._waiting: dict[CountedStream, float] = {}
        self._mean_others: defaultdict[Port, _Mean] = defaultdict(_Mean)
        self._most_others: defaultdict[Port, float] = defaultdict(float)
        self._buckets: dict[str, dict[int, tuple[Group | None, tuple[CountedStream | None, ...]]]] = {}
        self.suspects = False

    def follow(self, counters: TunnelCounters) -> None:
        """Judge these streams from now on; streams that were judged already are judged on."""
        streams = counters.streams
        self._counters = counters
        self._buckets.clear()
        self._judged = {key: judged for key, judged in self._judged.items() if key[0] in streams}
        for key in [key for key in self._under_way if key[0] not in streams]:
            del self._under_way[key]
        self._waiting = {stream: waiting for stream, waiting in self._waiting.items() if stream in streams}

    def forget(self, tunnels: Collection[Tunnel]) -> None:
        """Judge these tunnels afresh: their traffic is about to change, or has just done so."""
        self._judged = {key: judged for key, judged in self._judged.items() if key[0].tunnel not in tunnels}

    def restart(self, switch: str) -> None:
        """Judge what passes a switch afresh from its next counters on: what it has lost until now is explained."""
        self._before = {its: snapshot for its, snapshot in self._before.items() if its != switch}
        self._judged = {key: judged for key, judged in self._judged.items() if switch not in key[0].nodes}

    def judging(
        self, snapshots: Mapping[str, Snapshot], excused: Collection[Tunnel]
    ) -> Generator[None, None, list[HopLoss]]:
        """Return the task that takes in a round of snapshots and returns the losses that it confirms, the worst first.

        Tunnels whose loss is known, or has another cause, are excused. Only one such task may run at a time.
        """
        before, self._before = self._before, dict(snapshots)
        moves = yield from self._moves(before, snapshots)
        self.suspects = False
        if moves is None:
            self._judged.clear()
            return []
        self.forget(excused)
        for key in [key for key in self._judged if key[0] in moves.restarted]:
            del self._judged[key]
        yield
        self._put_right(moves)
        moves.is_steady = _is_steady(moves)
        _add_missing(moves)
        losses: dict[Tunnel, HopLoss] = {}
        quiet = [stream for stream, _ in self._judged if stream not in moves.counts]
        for stream in (*moves.counts, *dict.fromkeys(quiet)):
            yield
            if stream.tunnel in excused or stream in moves.restarted:
                continue
            counts = moves.counts.get(stream) or [0] * (len(stream.hops) + 1)
            queues = [self._queue_before(stream, hop, before, snapshots, moves) for hop in stream.hops]
            self._learn(stream, counts, moves.seconds)
            for span in _SPANS:
                loss = self._add(stream, span, counts, queues, moves, (before, snapshots))
                if loss is not None and (stream.tunnel not in losses or losses[stream.tunnel].share < loss.share):
                    losses[stream.tunnel] = loss
        return sorted(losses.values(), key=lambda loss: (-loss.share, loss.tunnel))

    def _moves(
        self, before: Mapping[str, Snapshot], now: Mapping[str, Snapshot]
    ) -> Generator[None, None, _Moves | None]:
        """Return how counters moved between two rounds; None if the rounds are too far apart."""
        both = [(before[switch], now[switch]) for switch in now if switch in before]
        seconds = max((new.asked_at - old.asked_at for old, new in both), default=math.inf)
        if not 0 < seconds <= LONGEST_ROUND:
            return None
        moves = _Moves(seconds)
        for old, new in both:
            yield from self._add_entries(moves, old, new)
            yield from self._add_buckets(moves, old, new)
        seen = {new.switch for _, new in both}
        for stream in moves.counts:
            if not seen.issuperset((stream.tunnel[0], *(hop.receiver for hop in stream.hops))):
                moves.restarted.add(stream)
        return moves

    def _put_right(self, moves: _Moves) -> None:
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
            off = {stream: self._off(stream, moves.counts[stream], moves.seconds) for stream in known}
            lacking, spare = ([stream for stream in known if off[stream] * sign > 0] for sign in (1, -1))
            lacks, spares = sum(off[stream] for stream in lacking), -sum(off[stream] for stream in spare)
            packets = sum(moves.counts[stream][0] for stream in known)
            if spare and abs(lacks - spares) <= LEAST_SKEW * packets / moves.seconds + SLACK * len(known):
                for stream in (*lacking, *spare):
                    moves.counts[stream][0] -= off[stream]
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

    def _off(self, stream: CountedStream, counts: list[int], seconds: float) -> int:
        """Return how many packets more an ingress has counted than the first hop, beyond what may be under way."""
        sent, arrived = counts[:2]
        if abs(sent - arrived) <= LEAST_SKEW * max(sent, arrived) / seconds + SLACK:
            return 0
        return sent - arrived if sent > arrived else min(sent - arrived + int(self._waiting.get(stream, 0.0)), 0)

    def _add_entries(self, moves: _Moves, old: Snapshot, new: Snapshot) -> Iterator[None]:
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

    def _add_buckets(self, moves: _Moves, old: Snapshot, new: Snapshot) -> Iterator[None]:
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

    def _note(self, moves: _Moves, stream: CountedStream, position: int, moved: int) -> None:
        if moved < 0:
            moves.restarted.add(stream)
            return
        counts = moves.counts.get(stream)
        if counts is None:
            counts = moves.counts[stream] = [0] * (len(stream.hops) + 1)
        counts[position] += moved

    def _queue_before(
        self,
        stream: CountedStream,
        hop: CountedHop,
        before: Mapping[str, Snapshot],
        now: Mapping[str, Snapshot],
        moves: _Moves,
    ) -> _Queue:
        """Return the state of the stream's queue before a hop."""
        place = hop.sender, hop.out_port
        port = moves.ports.get(place)
        if port is None:
            port = moves.ports[place] = self._port_before(hop, before, now, moves)
        if port.is_obscured:
            return port  # perhaps the switch was not polled
        dropped = _dropped_by_queues(stream, hop, before[hop.sender], now[hop.sender])
        if dropped is None:
            return replace(port, is_obscured=True)
        return replace(port, dropped=dropped) if dropped > port.dropped else port

    def _port_before(
        self, hop: CountedHop, before: Mapping[str, Snapshot], now: Mapping[str, Snapshot], moves: _Moves
    ) -> _Queue:
        """Return the same for all queues of the port, without what a single one tells."""
        old, new = before.get(hop.sender), now.get(hop.sender)
        if old is None or new is None or (hop.receiver, hop.in_port) in moves.unclear:
            return _Queue(0, 0.0, is_obscured=True)
        ports = old.ports.get(hop.out_port), new.ports.get(hop.out_port)
        if ports[0] is None or ports[1] is None:
            return _Queue(0, 0.0, is_obscured=True)
        frames = ports[1].sent - ports[0].sent
        vanished = frames - moves.arrived[hop.receiver, hop.in_port]
        place = hop.sender, hop.out_port
        faded = 0.5 ** (moves.seconds / HALF_LIFE)
        self._under_way_at[place] = max(self._under_way_at[place] * faded, -MARGIN * vanished)
        doubt = max(LEAST_SKEW * frames / moves.seconds, self._under_way_at[place]) + SLACK
        sent_bytes = ports[1].sent_bytes - ports[0].sent_bytes + _FRAME_OVERHEAD * frames
        dropped = ports[1].sent_dropped - ports[0].sent_dropped
        is_obscured = dropped < 0 or not 0 <= sent_bytes * 8e-6 < FULL * hop.capacity * moves.seconds
        others = self._others_at(place, vanished, doubt, _missing_undropped(moves, place, old, new), moves.seconds)
        if self._mean_others[place].weight < LEAST_WEIGHT:
            doubt = math.inf
        return _Queue(vanished - others * moves.seconds, doubt, is_obscured, dropped)

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

    def _add(
        self,
        stream: CountedStream,
        span: _Span,
        counts: list[int],
        queues: list[_Queue],
        moves: _Moves,
        rounds: tuple[Mapping[str, Snapshot], Mapping[str, Snapshot]],
    ) -> HopLoss | None:
        """Add a round to the stream's window; return a loss if the window ends with it and confirms one."""
        hops = len(stream.hops)
        judged = self._judged.get((stream, span))
        if judged is None:
            fresh = _Judged(_Window.empty(hops), [_Streak() for _ in stream.hops], [0.0] * (hops + 1))
            judged = self._judged[stream, span] = fresh
        window = judged.window
        for position, count in enumerate(counts):
            window.counts[position] += count
        for position, queue in enumerate(queues):
            window.vanished[position] += queue.vanished
            window.doubt[position] = max(window.doubt[position], queue.doubt)
            window.obscured[position] |= queue.is_obscured
            window.dropped[position] += queue.dropped
        window.rates = [count / moves.seconds for count in counts]
        window.seconds += moves.seconds
        window.peak = max(window.peak, max(counts) / moves.seconds)
        is_whole = window.seconds >= span.seconds and window.counts[0] >= span.packets
        if not is_whole and window.seconds < span.patience:
            self.suspects |= self._is_silent(window)
            return None
        if not (moves.is_steady or self._is_silent(window) or window.seconds >= span.patience + LONGEST_UNSTEADY):
            # What seems to be missing may only be counted late.
            self.suspects |= any(
                sent - arrived > self._noise(stream, position, window.peak)
                for position, (sent, arrived) in enumerate(pairwise(window.counts))
            )
            return None
        judged.window = _Window.empty(hops)
        before, judged.rates = judged.rates, window.rates
        loss = None
        for position, hop in enumerate(stream.hops):
            if self._loses(stream, window, position, judged, before[position]) and loss is None:
                sent, arrived = window.counts[position : position + 2]
                reaches = _reaches_port(hop, 1 - arrived / sent, *rounds)
                loss = HopLoss(stream, hop, sent, sent - arrived, reaches, self._spares(hop, stream, moves))
        if not any(window.counts) and not any(streak.windows for streak in judged.streaks):
            del self._judged[stream, span]  # it has no traffic
        return loss

    def _is_silent(self, window: _Window) -> bool:
        return any(
            sent >= LEAST_SILENT and not arrived and not obscured
            for sent, arrived, obscured in zip(window.counts, window.counts[1:], window.obscured, strict=False)
        )

    def _learn(self, stream: CountedStream, counts: list[int], seconds: float) -> None:
        """Learn from surpluses how many packets may be under way."""
        faded = 0.5 ** (seconds / HALF_LIFE)
        for position, (sent, arrived) in enumerate(pairwise(counts)):
            place = stream, position
            known = self._under_way.get(place, 0.0)
            if known or arrived > sent:
                self._under_way[place] = max(known * faded, MARGIN * (arrived - sent))

    def _noise(self, stream: CountedStream, position: int, peak: float) -> float:
        """Return the packets that may seem to be missing after a hop, at a rate of `peak` packets a second."""
        return max(LEAST_SKEW * peak, self._under_way.get((stream, position), 0.0)) + SLACK

    def _loses(self, stream: CountedStream, window: _Window, position: int, judged: _Judged, before: float) -> bool:
        """Return True if this window confirms that packets vanish at the hop; `before` it, the rate was this."""
        streak = judged.streaks[position]
        sent, arrived = window.counts[position : position + 2]
        lost = sent - arrived
        known = self._noise(stream, position, window.peak)
        noise = known + _grown(before, window.rates[position])
        is_silent = not arrived and sent >= LEAST_SILENT
        goes_on = streak.windows > 0 and lost > noise / 3
        if not is_silent and not (lost > self._limit * sent and (lost > noise or goes_on)):
            if sent or arrived:
                judged.streaks[position] = _Streak()
            return False
        is_obscured = window.obscured[position] or EXPLAINED * window.dropped[position] >= lost
        if streak.is_obscured and not is_obscured and not streak.has_vanished:
            streak = judged.streaks[position] = _Streak()  # what goes on in clear windows is judged by these
        if not streak.windows:
            streak.rate = before
        streak.windows += 1
        streak.sent += sent
        streak.lost += lost
        streak.worst = max(streak.worst, (lost, sent))
        vanished = min(window.vanished[position], lost)
        streak.vanished += vanished
        streak.most_vanished = max(streak.most_vanished, (vanished, lost))
        streak.is_obscured |= is_obscured
        streak.noise = max(streak.noise, known)
        streak.doubt = max(streak.doubt, window.doubt[position])
        if not streak.has_vanished and streak.is_obscured:
            return False
        self.suspects = True
        if streak.windows < (IN_A_ROW if streak.has_vanished else UNSENT_IN_A_ROW):
            return False
        if streak.lost == streak.sent:
            return streak.lost >= LEAST_SILENT
        # Packets under way, and counters that are late, explain a difference once: the other windows in a row must show
        # the loss as well.
        lost, sent = streak.lost - streak.worst[0], streak.sent - streak.worst[1]
        expected = self._limit * sent
        lost -= int(_grown(streak.rate, window.rates[position]))
        return streak.lost >= LEAST_LOST and lost - streak.noise > expected + 2 * math.sqrt(expected)

    def _spares(self, hop: CountedHop, stream: CountedStream, moves: _Moves) -> bool:
        """Return True if packets of another stream cross the hop's link in this round without a loss like this."""
        for other, counts in moves.counts.items():
            if other.tunnel == stream.tunnel or other in moves.restarted:
                continue
            for position, its in enumerate(other.hops):
                sent, arrived = counts[position : position + 2]
                is_same = (its.sender, its.receiver) == (hop.sender, hop.receiver)
                noise = self._noise(other, position, sent / moves.seconds)
                if is_same and sent >= LEAST_SILENT and arrived and sent - arrived <= noise:
                    return True
        return False


def _grown(before: float, now: float) -> float:
    """Return how many packets more may be under way on a link, as their rate has grown."""
    return LONGEST_DELAY * max(0.0, now - before)


def _is_steady(moves: _Moves) -> bool:
    """Return False if more of a stream arrives at a hop than was sent there: the counters were not updated together."""
    for stream, counts in moves.counts.items():
        most = max(counts)
        if most >= LEAST_TELLING and stream not in moves.restarted:
            surplus = max(arrived - sent for sent, arrived in pairwise(counts))
            if surplus > LEAST_SKEW * most / moves.seconds + SLACK:
                return False
    return True


def _add_missing(moves: _Moves) -> None:
    for stream in moves.restarted:
        moves.unknown.update((hop.sender, hop.out_port) for hop in stream.hops)
    for stream, counts in moves.counts.items():
        for hop, (sent, arrived) in zip(stream.hops, pairwise(counts), strict=True):
            of_queues = moves.missing.setdefault((hop.sender, hop.out_port), {})
            of_queues[stream.queues] = of_queues.get(stream.queues, 0) + sent - arrived


def _missing_undropped(moves: _Moves, place: Port, old: Snapshot, new: Snapshot) -> int | None:
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
        return None if stream.may_be_full else 0
    counted = [place for place in places if place in new.queues and place in old.queues]
    dropped = [new.queues[place].errors - old.queues[place].errors for place in counted]
    return None if any(each < 0 for each in dropped) else sum(dropped)


def _reaches_port(
    hop: CountedHop, share: float, before: Mapping[str, Snapshot], now: Mapping[str, Snapshot]
) -> bool | None:
    """Return True if the far port has received what the near one has sent in the last round, None if it is unknown."""
    both: list[int] = []
    for switch, port, name in ((hop.sender, hop.out_port, "sent"), (hop.receiver, hop.in_port, "received")):
        old, new = before[switch].ports.get(port), now[switch].ports.get(port)
        if old is None or new is None:
            return None
        both.append(getattr(new, name) - getattr(old, name))
    sent, received = both
    return None if sent <= 0 or received < 0 else sent - received < share * sent / 2
