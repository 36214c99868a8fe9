"""References of receivers and of recovery by credits, slow and obvious: sets of segments, and rules as they are stated.

Times are in picoseconds. A block is a pair of segments: the first of it and the one behind it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.simulator.packet.step_references import SECOND

Block = tuple[int, int]
MOST_BLOCKS = 3


def first_missing(arrived: set[int]) -> int:
    return next(number for number in range(len(arrived) + 1) if number not in arrived)


def block_around(arrived: set[int], number: int) -> Block:
    begin, end = number, number + 1
    while begin - 1 in arrived:
        begin -= 1
    while end in arrived:
        end += 1
    return begin, end


def blocks_beyond(arrived: set[int]) -> list[Block]:
    """Return the blocks behind the first gap, in order."""
    missing = first_missing(arrived)
    return sorted({block_around(arrived, number) for number in arrived if number > missing})


@dataclass(frozen=True)
class Acknowledgement:
    """An acknowledgement of TCP; `sent` and `path` are those of the segment that it answers."""

    number: int
    sent: int
    path: int
    mark: bool
    blocks: tuple[Block, ...]


@dataclass
class TcpReceiver:
    """RFC 5681, section 4.2, RFC 2018, section 4, and RFC 8257, section 3.2."""

    segments: int
    every: int
    delay: int
    sack: bool
    arrived: set[int] = field(default_factory=set)
    held: list[tuple[int, int]] = field(default_factory=list)  # when segments in order were sent, and their paths
    deadline: int | None = None
    marked: bool = False
    reported: list[int] = field(default_factory=list)  # a segment of each block of the last report

    def receive(self, number: int, sent: int, path: int, now: int, *, marked: bool) -> list[Acknowledgement]:
        answers = []
        changed = marked != self.marked
        if changed and self.held:  # these had the other mark
            answers.append(self._acknowledge(self.held[0]))
        self.marked = marked
        missing = first_missing(self.arrived)
        if number != missing:
            if number > missing:
                self.arrived.add(number)
                self.reported.insert(0, number)
            return [*answers, self._acknowledge(self.held[0] if self.held else (sent, path))]
        fills_gap = bool(blocks_beyond(self.arrived))
        self.arrived.add(number)
        if not self.held:
            self.deadline = now + self.delay
        self.held.append((sent, path))
        if len(self.held) >= self.every or fills_gap or changed or len(self.arrived) == self.segments:
            answers.append(self._acknowledge(self.held[0]))
        return answers

    def time_out(self) -> Acknowledgement:
        return self._acknowledge(self.held[0])

    def _acknowledge(self, origin: tuple[int, int]) -> Acknowledgement:
        self.held, self.deadline = [], None
        missing = first_missing(self.arrived)
        blocks: list[Block] = []
        for number in self.reported if self.sack else []:
            block = block_around(self.arrived, number)
            if number > missing and block not in blocks and len(blocks) < MOST_BLOCKS:
                blocks.append(block)
        self.reported = [begin for begin, _ in blocks]
        return Acknowledgement(missing, *origin, self.marked, tuple(blocks))


@dataclass
class Resequencer:
    """A buffer that holds segments behind a gap for `gap`, and those in order for `hold` or until there are enough."""

    gap: int
    hold: int
    enough: int
    stays: bool
    following: int = 0
    beyond: set[int] = field(default_factory=set)
    ready: list[int] = field(default_factory=list)
    gap_until: float = math.inf
    ready_until: float = math.inf

    def receive(self, number: int, now: int) -> list[int]:
        """Return the segments that are passed on."""
        if number > self.following and number not in self.beyond:
            self.beyond.add(number)
            self.gap_until = min(self.gap_until, now + self.gap)
            return []
        comes = [number]
        if number < self.following and self.stays:
            self.following = number + 1
        elif number == self.following:
            self.following += 1
            while self.following in self.beyond:
                self.beyond.remove(self.following)
                comes.append(self.following)
                self.following += 1
            if len(comes) > 1:
                self.gap_until = now + self.gap if self.beyond else math.inf
        self.ready += comes
        self.ready_until = min(self.ready_until, now + self.hold)
        return self._pass_ready() if self.hold == 0 or len(self.ready) >= self.enough else []

    def due(self, now: int) -> list[int]:
        if min(self.ready_until, self.gap_until) > now:
            return []
        passed = self._pass_ready()
        if self.gap_until <= now:
            passed += sorted(self.beyond)
            if not self.stays:
                self.following = max(self.beyond) + 1
            self.beyond, self.gap_until = set(), math.inf
        return passed

    def _pass_ready(self) -> list[int]:
        passed, self.ready, self.ready_until = self.ready, [], math.inf
        return passed


@dataclass(frozen=True)
class Message:
    """A packet of a transport by credits: its kind, its number, and the blocks that it reports."""

    kind: str
    number: int = 0
    blocks: tuple[Block, ...] = ()
    droppable: bool = False  # data that no credit let go
    sent: int = 0  # of a probe


@dataclass
class CreditedReceiver:
    """Reports gaps, data without credits and what a probe asks for; with `go_back` it keeps no data behind a gap."""

    segments: int
    go_back: bool
    timeout: int
    arrived: set[int] = field(default_factory=set)
    highest: int = -1
    asked: int | None = None  # when it has last asked for the first missing segment

    def data(self, number: int, now: int, *, with_credit: bool) -> list[Message]:
        missing = first_missing(self.arrived)
        if self.go_back and with_credit and number > missing:
            if self.asked is not None and now < self.asked + self.timeout:
                return []
            self.asked = now
            return [Message("request", missing)]
        if number == missing:
            self.asked = None
        tells_loss = number > self.highest + 1 and number not in self.arrived and number != missing
        self.highest = max(self.highest, number)
        self.arrived.add(number)
        missing = first_missing(self.arrived)
        if missing == self.segments:
            return [Message("acknowledgement", missing)]
        if with_credit and not tells_loss:
            return []
        beyond = blocks_beyond(self.arrived)
        if number < missing:
            return [Message("acknowledgement", missing)]
        place = beyond.index(block_around(self.arrived, number))
        return [Message("acknowledgement", missing, tuple(beyond[max(place - 1, 0) : place + 1]))]

    def probe(self, sent: int) -> list[Message]:
        """Return all blocks, in as many packets as that takes; the last one is the probe on its way back."""
        missing, beyond = first_missing(self.arrived), blocks_beyond(self.arrived)
        parts = [tuple(beyond[begin : begin + MOST_BLOCKS]) for begin in range(0, len(beyond), MOST_BLOCKS)] or [()]
        *others, last = parts
        return [
            *(Message("acknowledgement", missing, part) for part in others),
            Message("probe", missing, last, sent=sent),
        ]


@dataclass
class CreditedSender:
    """A sender of ExpressPass: asks while segments wait, sends one for each credit, and finds losses by reports.

    Attributes:
        early_gap: picoseconds between segments that leave without credits, None if none do.
        early_limit: the most of these, 0 for no limit.
    """

    segments: int
    timeout: int
    early_gap: int | None
    early_limit: int
    sent: int = 0  # segments that were sent at least once
    missing: int = 0
    arrived: set[int] = field(default_factory=set)  # as far as reports tell
    lost: set[int] = field(default_factory=set)  # and not sent again
    resent: set[int] = field(default_factory=set)  # since the last probe
    judged: int = 0  # what is known of the first transmission of those below
    early_sent: int = 0
    next_early: int | None = None
    asking: bool = False
    probed: bool = True  # nothing was sent since the last probe
    probe_at: int | None = None
    before_probe: int = 0
    patience: int = 0
    silent: int = 0  # timeouts in a row
    finished: bool = False
    timeouts: int = 0
    retransmitted: int = 0
    credits: int = 0
    unused: int = 0
    round_trip: int = 0

    def start(self, now: int) -> list[Message]:
        self.patience = now + self.timeout
        self.next_early = None if self.early_gap is None else now
        return [self._ask(), *self._act(now)]

    def credit(self, missing: int, now: int) -> list[Message]:
        self.credits += 1
        self._learn(missing, [])
        left = self._end_early(now)
        number = self._next_segment()
        if number is None:
            self.unused += 1
        else:
            self.probed = False
            left.append(Message("data", number))
        if self.sent < self.segments or self.lost:
            self._heard(now)
        return left + self._act(now)

    def answer(self, message: Message, now: int) -> list[Message]:
        if message.kind == "request":
            self._learn_missing(message.number)
            self.resent.clear()
            self._find_lost(range(self.missing, self.sent))
        else:
            self._learn(message.number, message.blocks)
            if message.kind == "probe" and message.sent == self.probe_at:
                self._find_lost(range(self.missing, self.before_probe))
        self._heard(now)
        return self._act(now)

    def wake(self, now: int) -> list[Message]:
        return self._act(now)

    def deadline(self) -> int:
        return self.patience if self.next_early is None else min(self.patience, self.next_early)

    def outstanding(self) -> int:
        return self.sent - self.missing - len({number for number in self.arrived if number > self.missing})

    def _demand(self) -> int:
        """Return the segments that wait, and those sent early of which nothing is known."""
        unknown = max(0, self.early_sent - max(self.judged, self.missing))
        return len(self.lost) + self.segments - self.sent + unknown

    def _ask(self) -> Message:
        self.asking = True
        return Message("request", self._demand())

    def _next_segment(self) -> int | None:
        while self.lost:
            number = min(self.lost)
            self.lost.remove(number)
            if number >= self.missing and number not in self.arrived:  # else it was only late
                self.resent.add(number)
                self.retransmitted += 1
                return number
        if self.sent == self.segments:
            return None
        self.sent += 1
        return self.sent - 1

    def _learn(self, missing: int, blocks: Sequence[Block]) -> None:
        """Note what has arrived; what was sent for the first time before that and has not arrived is lost."""
        self._learn_missing(missing)
        top = max([self.missing, *(end for _, end in blocks)])
        for begin, end in blocks:
            self.arrived |= set(range(begin, end))
        self._find_lost(range(self.judged, top))
        self.judged = max(self.judged, top)

    def _learn_missing(self, missing: int) -> None:
        self.missing = max(self.missing, missing)
        self.lost = {number for number in self.lost if number >= self.missing}

    def _find_lost(self, among: range) -> None:
        self.judged = max(self.judged, among.stop)
        known = self.arrived | self.resent | set(range(self.missing))
        self.lost |= set(among) - known

    def _end_early(self, now: int) -> list[Message]:
        was_early, self.next_early = self.next_early is not None, None
        return [self._probe(now)] if was_early and not self.probed else []

    def _probe(self, now: int) -> Message:
        self.before_probe, self.probe_at, self.probed = self.sent, now, True
        self.resent.clear()
        return Message("probe", sent=now)

    def _heard(self, now: int) -> None:
        self.silent, self.patience = 0, now + max(self.timeout, 2 * self.round_trip)

    def _act(self, now: int) -> list[Message]:
        """Do all that there is to do by now."""
        if self.finished or self.missing == self.segments:
            self.finished = True
            return []
        left = []
        while self.next_early is not None and self.next_early <= now:
            if self.sent == self.segments or (self.early_limit and self.early_sent >= self.early_limit):
                left += self._end_early(now)
                break
            left.append(Message("data", self.sent, droppable=True))
            self.sent += 1
            self.early_sent += 1
            self.probed = False
            assert self.early_gap is not None
            self.next_early += self.early_gap
        needs = self._demand() > 0
        if needs and not self.asking:
            left.append(self._ask())
        elif self.asking and not needs:
            self.asking = False
            left.append(Message("stop"))
        waits = bool(self.lost) or self.sent < self.segments
        if self.patience <= now:
            self.timeouts += 1
            self.silent = min(self.silent + 1, 8)
            self.patience = now + max(self.timeout, 2 * self.round_trip) * 2**self.silent
            return [*left, self._ask() if self._demand() else Message("stop"), self._probe(now)]
        return left if self.probed or waits else [*left, self._probe(now)]


def time_of(size: int, rate: float) -> int:
    return math.ceil(size * 8 * SECOND / rate)
