"""Finds the hop of a tunnel at which packets vanish, by the counters of its switches; pure.

Packets are conserved: what an ingress sends into a tunnel arrives at each further switch, but for packets under way,
those that wait in a queue or that a full one drops, and counters that are read at different times. A difference that
these do not explain and that goes on is a loss: a black hole if nothing arrives, else a lossy link. Packets in queues
tell themselves apart: their port has not sent them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from kuijia_app.control.counter_rounds import CounterRound, CounterRounds, QueueState
from kuijia_app.control.liveness import Tunnel
from kuijia_app.control.snapshot import Snapshot
from kuijia_app.control.tunnel_counters import CountedHop, CountedStream, TunnelCounters

LONGEST_DELAY = 0.1
"""Seconds that a packet may take over a link. As many more are under way as the rate has grown in that time."""

LONGEST_UNSTEADY = 5.0
"""Seconds by which a window may be longer, until its counters do not differ in age any more."""

LEAST_LOST = 10
"""Packets that must have vanished before a link counts as lossy."""

LEAST_SILENT = 4
"""Packets that must have vanished before a hop over which nothing arrives counts as a black hole."""

IN_A_ROW = 2
"""Windows in a row that must lose: one may be a failure that others notice."""

UNSENT_IN_A_ROW = 4
"""The same if the sender's port has not sent the missing packets either: they may wait, but not for ever. Bursts nearly
in step with the polls look like a loss for up to three windows."""

EXPLAINED = 4
"""A quarter of the missing packets: a loss is obscured if the sender's port or queue says to have dropped as many."""


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


class HopLosses:
    """Judges rounds of snapshots of all switches, each taken at about the same time.

    Attributes:
        suspects: True if the last round showed a loss that the next one will confirm or deny: it should come soon.
    """

    def __init__(self, limit: float) -> None:
        """Begin; `limit` is the share of lost packets above which a hop is lossy: 1 judges black holes alone."""
        self._limit = limit
        self._rounds = CounterRounds()
        self._judged: dict[tuple[CountedStream, _Span], _Judged] = {}
        self.suspects = False

    def follow(self, counters: TunnelCounters) -> None:
        """Judge these streams from now on; streams that were judged already are judged on."""
        streams = counters.streams
        self._rounds.follow(counters)
        self._judged = {key: judged for key, judged in self._judged.items() if key[0] in streams}

    def forget(self, tunnels: Collection[Tunnel]) -> None:
        """Judge these tunnels afresh: their traffic is about to change, or has just done so."""
        self._judged = {key: judged for key, judged in self._judged.items() if key[0].tunnel not in tunnels}

    def restart(self, switch: str) -> None:
        """Judge what passes a switch afresh from its next counters on: what it has lost until now is explained."""
        self._rounds.restart(switch)
        self._judged = {key: judged for key, judged in self._judged.items() if switch not in key[0].nodes}

    def judging(
        self, snapshots: Mapping[str, Snapshot], excused: Collection[Tunnel]
    ) -> Generator[None, None, list[HopLoss]]:
        """Return the task that takes in a round of snapshots and returns the losses that it confirms, the worst first.

        Tunnels whose loss is known, or has another cause, are excused. Only one such task may run at a time.
        """
        moves = yield from self._rounds.taking(snapshots)
        self.suspects = False
        if moves is None:
            self._judged.clear()
            return []
        self.forget(excused)
        for key in [key for key in self._judged if key[0] in moves.restarted]:
            del self._judged[key]
        losses: dict[Tunnel, HopLoss] = {}
        quiet = [stream for stream, _ in self._judged if stream not in moves.counts]
        for stream in (*moves.counts, *dict.fromkeys(quiet)):
            yield
            if stream.tunnel in excused or stream in moves.restarted:
                continue
            counts = moves.counts.get(stream) or [0] * (len(stream.hops) + 1)
            queues = [self._rounds.queue_before(stream, hop, moves) for hop in stream.hops]
            self._rounds.learn(stream, counts, moves.seconds)
            for span in _SPANS:
                loss = self._add(stream, span, counts, queues, moves)
                if loss is not None and (stream.tunnel not in losses or losses[stream.tunnel].share < loss.share):
                    losses[stream.tunnel] = loss
        return sorted(losses.values(), key=lambda loss: (-loss.share, loss.tunnel))

    def _add(
        self,
        stream: CountedStream,
        span: _Span,
        counts: list[int],
        queues: list[QueueState],
        moves: CounterRound,
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
                sent - arrived > self._rounds.noise(stream, position, window.peak)
                for position, (sent, arrived) in enumerate(pairwise(window.counts))
            )
            return None
        judged.window = _Window.empty(hops)
        before, judged.rates = judged.rates, window.rates
        loss = None
        for position, hop in enumerate(stream.hops):
            if self._loses(stream, window, position, judged, before[position]) and loss is None:
                sent, arrived = window.counts[position : position + 2]
                reaches = _reaches_port(hop, 1 - arrived / sent, moves)
                loss = HopLoss(stream, hop, sent, sent - arrived, reaches, self._spares(hop, stream, moves))
        if not any(window.counts) and not any(streak.windows for streak in judged.streaks):
            del self._judged[stream, span]  # it has no traffic
        return loss

    def _is_silent(self, window: _Window) -> bool:
        return any(
            sent >= LEAST_SILENT and not arrived and not obscured
            for sent, arrived, obscured in zip(window.counts, window.counts[1:], window.obscured, strict=False)
        )

    def _loses(self, stream: CountedStream, window: _Window, position: int, judged: _Judged, before: float) -> bool:
        """Return True if this window confirms that packets vanish at the hop; `before` it, the rate was this."""
        streak = judged.streaks[position]
        sent, arrived = window.counts[position : position + 2]
        lost = sent - arrived
        known = self._rounds.noise(stream, position, window.peak)
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

    def _spares(self, hop: CountedHop, stream: CountedStream, moves: CounterRound) -> bool:
        """Return True if packets of another stream cross the hop's link in this round without a loss like this."""
        for other, counts in moves.counts.items():
            if other.tunnel == stream.tunnel or other in moves.restarted:
                continue
            for position, its in enumerate(other.hops):
                sent, arrived = counts[position : position + 2]
                is_same = (its.sender, its.receiver) == (hop.sender, hop.receiver)
                noise = self._rounds.noise(other, position, sent / moves.seconds)
                if is_same and sent >= LEAST_SILENT and arrived and sent - arrived <= noise:
                    return True
        return False


def _grown(before: float, now: float) -> float:
    """Return how many packets more may be under way on a link, as their rate has grown."""
    return LONGEST_DELAY * max(0.0, now - before)


def _reaches_port(hop: CountedHop, share: float, moves: CounterRound) -> bool | None:
    """Return True if the far port has received what the near one has sent in the last round, None if it is unknown."""
    both: list[int] = []
    for switch, port, name in ((hop.sender, hop.out_port, "sent"), (hop.receiver, hop.in_port, "received")):
        old, new = moves.before[switch].ports.get(port), moves.now[switch].ports.get(port)
        if old is None or new is None:
            return None
        both.append(getattr(new, name) - getattr(old, name))
    sent, received = both
    return None if sent <= 0 or received < 0 else sent - received < share * sent / 2
