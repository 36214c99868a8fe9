"""Finds the hop of a tunnel at which packets vanish, by the counters of its switches; pure.

Packets are conserved: what an ingress sends into a tunnel arrives at each further switch, but for packets under way,
those that wait in a queue or that a full one drops, and counters that are read at different times. A difference that
these do not explain and that goes on is a loss: a black hole if nothing arrives, else a lossy link. Packets in queues
tell themselves apart: their port has not sent them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, field

from kuijia_app.control.counter_rounds import MARGIN, SLACK, CounterRound, CounterRounds, QueueState
from kuijia_app.control.liveness import Tunnel
from kuijia_app.control.snapshot import Snapshot
from kuijia_app.control.tunnel_counters import CountedHop, CountedStream, TunnelCounters

LONGEST_DELAY = 0.1
"""Seconds that a packet may take over a link. As many more are under way as the rate has grown in that time."""

LEAST_LOST = 10
"""Packets that must have vanished before a link counts as lossy."""

LEAST_SILENT = 4
"""Packets that must have vanished before a hop over which nothing arrives counts as a black hole."""

IN_A_ROW = 2
"""Rounds that must lose: one may be a failure that others notice."""

UNSENT_IN_A_ROW = 4
"""The same if the sender's port has not sent the missing packets either: they may wait, but not for ever. Bursts nearly
in step with the polls look like a loss for up to three rounds."""

SUSPICIOUS = 0.7
"""Share of what noise explains from which on the next round should come soon."""

EXPLAINED = 4
"""A quarter of the missing packets: a loss is obscured if the sender's port or queue says to have dropped as many."""

PATIENCE, PATIENT_ROUNDS = 3000, 10
"""Packets and rounds with packets after which a deficit that has not grown is taken for a loss that is over."""


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
class _Evidence:
    """Packets that are missing after a hop: whether they vanished after the sender's port had sent them.

    Attributes:
        missing, vanished: packets; `vanished` are those missing that the sender's port has sent.
        doubt: those of them that may be under way instead.
        most: packets vanished and missing in the round with most of them.
        on_link: frames that the next port has not received; None if that is unknown.
    """

    missing: float = 0.0
    vanished: float = 0.0
    doubt: float = 0.0
    most: tuple[float, float] = (0.0, 0.0)
    on_link: int | None = 0

    def add(self, missing: float, lost: int, queue: QueueState) -> None:
        """Add a round in which `lost` packets are missing, `missing` of them unexplained."""
        vanished = min(queue.vanished, lost)
        self.missing += missing
        self.vanished += vanished
        self.doubt = max(self.doubt, queue.doubt)
        self.most = max(self.most, (vanished, missing))
        self.on_link = None if self.on_link is None or queue.on_link is None else self.on_link + queue.on_link

    @property
    def rounds_needed(self) -> int:
        return IN_A_ROW if self.is_clear else UNSENT_IN_A_ROW

    @property
    def reaches_port(self) -> bool | None:
        return None if self.on_link is None else self.on_link < self.missing / 2

    @property
    def is_clear(self) -> bool:
        """True if most of the missing packets have vanished after the port.

        The rounds but one must show it: once, a port may have sent what no entry was there to count.
        """
        return self.vanished - self.most[0] - self.doubt >= (self.missing - self.most[1]) / 2


@dataclass(slots=True)
class _Deficit:
    """Packets that are missing after a hop beyond the share that may be: a cumulative sum (Page 1954), above 0.

    Without a loss it stays below what may be under way, wait or be counted late, however long it runs. A loss makes it
    grow with each packet.

    Attributes:
        rate: packets a second before it.
        excess, most: the sum, and its maximum; all that follows is of the time since it was 0.
        peak: the greatest rate.
        sent: packets.
        worst: packets missing and sent in the round that lost most.
        evidence: what is missing, and where it has vanished.
        stale_sent, stale_rounds: packets sent, and rounds with packets, since the maximum.
        rounds: how many in a row had more missing than noise explains.
        shown_lost, shown_sent: packets in these rounds.
    """

    rate: float
    excess: float = 0.0
    most: float = 0.0
    peak: float = 0.0
    sent: int = 0
    worst: tuple[float, int] = (0.0, 0)
    evidence: _Evidence = field(default_factory=_Evidence)
    is_obscured: bool = False
    stale_sent: int = 0
    stale_rounds: int = 0
    rounds: int = 0
    shown_lost: int = 0
    shown_sent: int = 0

    def add(self, sent: int, missing: float, allowed: float) -> None:
        """Add a round; `allowed` packets may be missing."""
        self.excess += missing - allowed
        self.sent += sent
        self.worst = max(self.worst, (missing, sent))
        if self.excess > self.most:
            self.most, self.stale_sent, self.stale_rounds = self.excess, 0, 0
        else:
            self.stale_sent += sent
            self.stale_rounds += sent > 0

    def show(self, lost: int, sent: int) -> None:
        """Note a round in which noise does not explain what is missing."""
        if self.rounds < IN_A_ROW and lost > 0:
            self.shown_lost = self.shown_sent = 0  # the first one may be lossy in part alone
        self.shown_lost += lost
        self.shown_sent += sent
        self.rounds += 1

    def is_confirmed(self, noise: float, limit: float) -> bool:
        """Return True if enough rounds show a loss.

        Packets under way, and counters that are late, explain a difference once: the rounds but the worst must show the
        loss as well.
        """
        if self.rounds < self.evidence.rounds_needed:
            return False
        missing, expected = self.evidence.missing - self.worst[0], limit * (self.sent - self.worst[1])
        is_lossy = missing - noise > expected + 2 * math.sqrt(expected)
        return is_lossy and self.evidence.missing >= LEAST_LOST and self.shown_lost > 0

    @property
    def is_over(self) -> bool:
        """True if nothing is missing any more, or nothing more has been for long."""
        return self.excess <= 0 or self.stale_sent > PATIENCE or self.stale_rounds > PATIENT_ROUNDS


@dataclass(slots=True)
class _Silence:
    """Packets sent since one has arrived, all of which are missing, and the rounds in which they were."""

    sent: int = 0
    rounds: int = 0
    evidence: _Evidence = field(default_factory=_Evidence)


class HopLosses:
    """Judges rounds of snapshots of all switches, each taken at about the same time.

    Attributes:
        suspects: True if the last round showed a loss that the next one will confirm or deny: it should come soon.
    """

    def __init__(self, limit: float) -> None:
        """Begin; `limit` is the share of lost packets above which a hop is lossy: 1 judges black holes alone."""
        self._limit = limit
        self._rounds = CounterRounds()
        self._deficits: dict[tuple[CountedStream, int], _Deficit] = {}
        self._silences: dict[tuple[CountedStream, int], _Silence] = {}
        self._rates: dict[CountedStream, list[float]] = {}
        self.suspects = False

    def follow(self, counters: TunnelCounters) -> None:
        """Judge these streams from now on; streams that were judged already are judged on."""
        streams = counters.streams
        self._rounds.follow(counters)
        self._drop(lambda stream: stream not in streams)

    def forget(self, tunnels: Collection[Tunnel]) -> None:
        """Judge these tunnels afresh: their traffic is about to change, or has just done so."""
        self._drop(lambda stream: stream.tunnel in tunnels)

    def restart(self, switch: str) -> None:
        """Judge what passes a switch afresh from its next counters on: what it has lost until now is explained."""
        self._rounds.restart(switch)
        self._drop(lambda stream: switch in stream.nodes)

    def judging(
        self, snapshots: Mapping[str, Snapshot], excused: Collection[Tunnel]
    ) -> Generator[None, None, list[HopLoss]]:
        """Return the task that takes in a round of snapshots and returns the losses that it confirms, the worst first.

        Tunnels whose loss is known, or has another cause, are excused. Only one such task may run at a time.
        """
        moves = yield from self._rounds.taking(snapshots)
        self.suspects = False
        if moves is None:
            self._drop(lambda _: True)
            return []
        self.forget(excused)
        self._drop(moves.restarted.__contains__)
        losses: dict[Tunnel, HopLoss] = {}
        rates: dict[CountedStream, list[float]] = {}
        doubtful = [stream for (stream, _), each in self._deficits.items() if each.rounds]
        for stream in dict.fromkeys((*moves.counts, *doubtful)):
            yield
            if stream.tunnel in excused or stream in moves.restarted:
                continue
            counts = moves.counts.get(stream) or [0] * (len(stream.hops) + 1)
            rates[stream] = [count / moves.seconds for count in counts]
            queues = [self._rounds.queue_before(stream, hop, moves) for hop in stream.hops]
            self._rounds.learn(stream, counts, moves.seconds)
            loss = self._judged(stream, counts, queues, moves)
            if loss is not None and (stream.tunnel not in losses or losses[stream.tunnel].share < loss.share):
                losses[stream.tunnel] = loss
        self._rates = rates
        return sorted(losses.values(), key=lambda loss: (-loss.share, loss.tunnel))

    def _drop(self, is_dropped: Callable[[CountedStream], bool]) -> None:
        for judged in (self._deficits, self._silences):
            for key in [key for key in judged if is_dropped(key[0])]:
                del judged[key]

    def _judged(
        self, stream: CountedStream, counts: list[int], queues: list[QueueState], moves: CounterRound
    ) -> HopLoss | None:
        """Add a round to what is known of a stream's hops; return the loss at the first of them that loses packets."""
        loss = None
        for position, hop in enumerate(stream.hops):
            lossy = self._deficit_after(stream, position, counts, queues[position], moves)
            silent = self._silence_after(stream, position, counts, queues[position])
            found = lossy or silent
            if loss is None and found is not None:
                sent, lost = (lossy.shown_sent, lossy.shown_lost) if lossy is not None else (found.sent, found.sent)
                loss = HopLoss(stream, hop, sent, lost, found.evidence.reaches_port, self._spares(hop, stream, moves))
        return loss

    def _silence_after(
        self, stream: CountedStream, position: int, counts: list[int], queue: QueueState
    ) -> _Silence | None:
        """Return the silence after a hop if this round confirms that it is a black hole."""
        sent, arrived = counts[position : position + 2]
        if arrived:
            self._silences.pop((stream, position), None)
        if arrived or not sent:
            return None
        silence = self._silences.setdefault((stream, position), _Silence())
        silence.sent += sent
        silence.evidence.add(sent, sent, queue)
        silence.rounds += 1
        if not silence.evidence.is_clear and (queue.is_obscured or EXPLAINED * queue.dropped >= sent):
            del self._silences[stream, position]
            return None
        if silence.sent < LEAST_SILENT:
            return None
        self.suspects = True
        return silence if silence.rounds >= silence.evidence.rounds_needed else None

    def _deficit_after(
        self, stream: CountedStream, position: int, counts: list[int], queue: QueueState, moves: CounterRound
    ) -> _Deficit | None:
        """Return the deficit after a hop if this round confirms that it is a loss."""
        sent, arrived = counts[position : position + 2]
        lost = sent - arrived
        key = stream, position
        rate = sent / moves.seconds
        deficit = self._deficits.get(key)
        if deficit is None:
            if lost <= self._limit * sent:
                return None
            before = self._rates.get(stream)
            deficit = self._deficits[key] = _Deficit(0.0 if before is None else before[position])
        is_obscured = queue.is_obscured or SLACK < lost <= EXPLAINED * queue.dropped
        undropped = lost - max(0, queue.dropped)
        missing = min(undropped, queue.vanished) if is_obscured else undropped
        deficit.add(sent, missing, self._limit * sent)
        deficit.evidence.add(missing, lost, queue)
        if deficit.is_over:
            del self._deficits[key]
            return None
        deficit.peak = max(deficit.peak, *(count / moves.seconds for count in counts))
        deficit.is_obscured |= is_obscured
        noise = self._rounds.noise(stream, deficit.peak)
        if deficit.is_obscured:
            noise = max(noise, 2 * deficit.evidence.doubt)  # from the least to the most that was under way
        self.suspects |= deficit.excess > SUSPICIOUS * noise
        if deficit.excess <= noise:
            deficit.rounds = 0
            return None
        noise += _grown(deficit.rate, rate) + MARGIN * moves.lag * deficit.peak
        if deficit.excess <= noise:
            return None
        deficit.show(lost, sent)
        return deficit if deficit.is_confirmed(noise, self._limit) else None

    def _spares(self, hop: CountedHop, stream: CountedStream, moves: CounterRound) -> bool:
        """Return True if packets of another stream cross the hop's link in this round without a loss like this."""
        for other, counts in moves.counts.items():
            if other.tunnel == stream.tunnel or other in moves.restarted:
                continue
            for position, its in enumerate(other.hops):
                sent, arrived = counts[position : position + 2]
                is_same = (its.sender, its.receiver) == (hop.sender, hop.receiver)
                noise = self._rounds.noise(other, sent / moves.seconds)
                if is_same and sent >= LEAST_SILENT and arrived and sent - arrived <= noise:
                    return True
        return False


def _grown(before: float, now: float) -> float:
    """Return how many packets more may be under way on a link, as their rate has grown."""
    return LONGEST_DELAY * max(0.0, now - before)
