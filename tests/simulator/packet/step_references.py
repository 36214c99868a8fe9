"""References of parts of the core, slow and obvious: each follows the text of its paper or RFC, step by step.

Times are in picoseconds, windows in segments, rates shares of the most.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction

from simulator.packet import _core

SECOND = 10**12


@dataclass
class Reno:
    """RFC 5681: slow start with appropriate byte counting (RFC 3465) of `limit` segments, and halving."""

    size: float
    limit: float
    threshold: float = math.inf

    def grow(self, acknowledged: float, now: int, round_trip: int) -> None:
        left = self._slow_start(acknowledged)
        if left is None:
            self.avoid(acknowledged, now, round_trip)
        elif left > 0:
            self.after_slow_start(left, now, round_trip)

    def avoid(self, acknowledged: float, _now: int, _round_trip: int) -> None:
        self.size += min(acknowledged, self.limit) / self.size

    def after_slow_start(self, left: float, now: int, round_trip: int) -> None:
        """Use segments acknowledged beyond those that took the window to the threshold: Reno does not."""

    def lost(self, in_flight: float) -> None:
        self.threshold = max(math.floor(in_flight) / 2, 2.0)
        self.size = self.threshold

    def marked(self, in_flight: float) -> None:
        self.lost(in_flight)

    def timed_out(self, in_flight: float) -> None:
        self.lost(in_flight)

    def observe(self, first_missing: int, acknowledged: int, marked: int, following: int) -> None:
        """Note acknowledged segments, if the control wants to."""

    def _slow_start(self, acknowledged: float) -> float | None:
        """Grow below the threshold; return what is left beyond it, None if the window was not below it."""
        if self.size >= self.threshold:
            return None
        grown = min(acknowledged, self.limit, self.threshold - self.size)
        self.size += grown
        return acknowledged - grown if self.size >= self.threshold else 0.0


@dataclass
class Cubic(Reno):
    """RFC 9438, section 4: `beta` is the share of the window that is left after a loss, C is 0.4."""

    beta: float = 0.7
    fast_convergence: bool = True
    maximum: float = 0.0  # W_max
    prior: float = 0.0  # cwnd_prior
    epoch: int | None = None
    plateau: float = 0.0  # K
    estimate: float = 0.0  # W_est
    after_timeout: bool = False

    def after_slow_start(self, left: float, now: int, round_trip: int) -> None:
        self.avoid(left, now, round_trip)

    def avoid(self, acknowledged: float, now: int, round_trip: int) -> None:
        if self.epoch is None:
            self._begin(now)
        assert self.epoch is not None
        time = (now - self.epoch) / SECOND
        alpha = 1.0 if self.estimate >= self.prior else 3 * (1 - self.beta) / (1 + self.beta)
        self.estimate += alpha * acknowledged / self.size
        if self._curve(time) < self.estimate:  # section 4.3, the friendly region
            self.size = max(self.size, self.estimate)
            return
        target = self._curve(time + round_trip / SECOND)
        if target < self.size:
            target = self.size
        elif target > 1.5 * self.size:
            target = 1.5 * self.size
        self.size += acknowledged * (target - self.size) / self.size

    def lost(self, in_flight: float) -> None:
        self.prior = self.size
        if self.fast_convergence and self.size < self.maximum:
            self.maximum = self.size * (1 + self.beta) / 2
        else:
            self.maximum = self.size
        self.threshold = max(self.beta * min(in_flight, self.size), 2.0)
        self.size = self.threshold
        self.epoch = None

    def timed_out(self, in_flight: float) -> None:
        self.lost(in_flight)
        self.after_timeout = True

    def _begin(self, now: int) -> None:
        self.epoch = now
        self.estimate = self.size
        if self.after_timeout or self.size > self.maximum:
            self.maximum = self.size
        self.plateau = ((self.maximum - self.size) / 0.4) ** (1 / 3)
        self.after_timeout = False

    def _curve(self, time: float) -> float:
        return 0.4 * (time - self.plateau) ** 3 + self.maximum


@dataclass
class Dctcp(Reno):
    """RFC 8257, section 3.3: `gain` is g."""

    gain: float = 1 / 16
    least: float = 2.0
    alpha: float = 1.0
    window_end: int = 0
    counts: list[tuple[int, int]] = field(default_factory=list)  # segments of an acknowledgement, and those marked

    def marked(self, in_flight: float) -> None:  # noqa: ARG002  # only a loss goes by what is in flight
        self.size = max(self.size * (1 - self.alpha / 2), self.least)
        self.threshold = self.size

    def observe(self, first_missing: int, acknowledged: int, marked: int, following: int) -> None:
        self.counts.append((acknowledged, marked * acknowledged))
        if first_missing > self.window_end:
            everything = sum(count for count, _ in self.counts)
            if everything:
                share = sum(count for _, count in self.counts) / everything
                self.alpha = self.alpha * (1 - self.gain) + self.gain * share
            self.counts.clear()
            self.window_end = following


@dataclass
class CreditRate:
    """ExpressPass's feedback control: Algorithm 1 of the paper, or the rules of the public code for ns-2."""

    initial_weight: float = 0.0625
    least_weight: float = 0.01
    most_weight: float = 0.5
    target_loss: float = 0.1
    as_code: bool = False
    floor: bool = False
    rate: float = 1.0
    weight: float = 0.0
    increased: bool = False
    changed: int = 0
    credits: list[bool] = field(default_factory=list)  # True for each that was lost

    def begin(self, rate: float, now: int) -> None:
        self.rate, self.weight, self.changed = rate, self.initial_weight, now

    def noted(self, lost: int) -> None:
        self.credits += [True] * lost + [False]

    def adapt(self, now: int, round_trip: int, full: float) -> None:
        if not self.credits or round_trip == 0 or now < self.changed + round_trip:
            return
        lost, sent = sum(self.credits), len(self.credits)
        loss = lost / sent
        target = self.target_loss * (1 - self.rate) if self.as_code else self.target_loss
        if loss <= target:
            if self.increased:
                self.weight = self._next_weight()
            ceiling = 1.0 if self.as_code else 1.0 + target
            self.rate = (1 - self.weight) * self.rate + self.weight * ceiling
        else:
            arrived = (sent - lost) * full / (now - self.changed)  # the rate at which credits came through
            slower = arrived * (1 + target) if self.as_code else min(arrived, 1.0) * (1 + target)
            self.rate = min(slower, self.rate) if self.as_code else slower
            self.weight = max(self.weight / 2, self.least_weight)
        self.increased = loss <= target
        if self.as_code:
            self.rate = min(self.rate, 1.0)
        if self.as_code or self.floor:
            self.rate = max(self.rate, min(1.0, full / round_trip))
        self.credits.clear()
        self.changed = now

    def _next_weight(self) -> float:
        if self.as_code:
            return min(self.weight + 0.05, self.most_weight)
        return (self.weight + self.most_weight) / 2


@dataclass
class Red:
    """Random early detection (Floyd and Jacobson, 1993, figure 2): 0 takes a packet, 1 marks it, 2 drops it."""

    low: int
    high: int
    probability: float
    weight: float
    random: _core.Random
    average: float = 0.0
    count: int = -1

    def judge(self, capable: int, waiting: int, missed: int) -> int:
        while missed > 0 and self.average >= 1:  # a byte is nothing
            self.average *= 1 - self.weight
            missed -= 1
        self.average += self.weight * (waiting - self.average)
        if self.average < self.low:
            self.count = -1
            return 0
        self.count += 1
        if self.average >= self.high:
            self.count = 0
            return 2
        base = self.probability * (self.average - self.low) / (self.high - self.low)
        if self.count * base < 1 and self.random.unit(1)[0] >= base / (1 - self.count * base):
            return 0
        self.count = 0
        return 1 if capable else 2


@dataclass
class Tokens:
    """A bucket that was full at the beginning: tokens in bytes, its rate in bytes for each picosecond."""

    rate: Fraction
    burst: int
    left: Fraction = Fraction(0)
    since: int = 0

    @classmethod
    def of(cls, bits_per_second: int, burst: int) -> Tokens:
        return cls(Fraction(bits_per_second, 8 * SECOND), burst, Fraction(burst))

    def due(self, size: int) -> Fraction:
        """Return when there are so many tokens, in the past if there are more."""
        return self.since + (size - self.left) / self.rate

    def take(self, size: int, now: int) -> None:
        self.left = min(Fraction(self.burst), self.left + (now - self.since) * self.rate) - size
        self.since = now


@dataclass
class Priorities:
    """Queues of strict priority that may have tokens of their own, and share some with others.

    Attributes:
        limits: bytes that may wait in each queue.
        own: the bucket of each queue, if it has one.
        shared: buckets, and the places of their queues.
    """

    limits: list[int]
    own: list[Tokens | None]
    shared: list[tuple[Tokens, list[int]]]
    waiting: list[list[tuple[int, int]]] = field(default_factory=list)  # number and size
    dropped: int = 0

    def __post_init__(self) -> None:
        self.waiting = [[] for _ in self.limits]

    def offer(self, number: int, level: int, size: int) -> None:
        place = min(level, len(self.limits) - 1)
        if sum(each for _, each in self.waiting[place]) + size > self.limits[place]:
            self.dropped += 1
        else:
            self.waiting[place].append((number, size))

    def choose(self, now: int) -> tuple[int, Fraction | None]:
        """Return the number of the packet that leaves, -1 if none may, and when one may if none leaves."""
        times: list[Fraction] = []
        claimed: set[int] = set()  # buckets whose tokens a queue waits for: they are not for those behind it
        for place, packets in enumerate(self.waiting):
            if not packets:
                continue
            number, size = packets[0]
            bucket = next((which for which, (_, places) in enumerate(self.shared) if place in places), None)
            own = self.own[place]
            if bucket is not None:
                if bucket in claimed:
                    continue
                due = self.shared[bucket][0].due(size)
                if due > now:
                    times.append(due)
                    claimed.add(bucket)
                    continue
            if own is not None and own.due(size) > now:
                times.append(own.due(size))
                continue
            for tokens in (own, None if bucket is None else self.shared[bucket][0]):
                if tokens is not None:
                    tokens.take(size, now)
            packets.pop(0)
            return number, None
        return -1, min(times, default=None)


@dataclass
class Emulation:
    """An emulation packet of FlashPass: when it left, and what is known of it."""

    sent: int
    ordinary: bool
    credited: bool = False
    known: bool = False  # credited or lost


@dataclass
class FlashPass:
    """A sender of FlashPass (section 3.1 and Algorithm 1): emulation, credits, and when data leaves.

    Attributes:
        gap: distance of emulation packets at the full rate, in picoseconds.
        segments: of the flow.
        jitter: most by which an emulation packet is late, in mean distances.
    """

    wait: int
    gap: float
    least_loss: float = 0.01
    most_loss: float = 0.1
    segments: int = 2**32 - 1
    finishing: int = 0
    send_buffer: int = 0
    jitter: float = 0.0
    random: _core.Random | None = None
    rate: float = 1.0
    rate_before: float = 1.0  # in the round trip that the next change judges
    judged: tuple[int, int] = (0, 0)  # emulation packets of that round trip
    emulated: list[Emulation] = field(default_factory=list)
    data: int = 0  # segments sent
    left: int = 0  # emulation packets whose time has come, or that are lost
    planned: int = 0
    following: int = 0  # when the next emulation packet leaves
    credits: int = 0
    unused: int = 0
    round_trip: int = 0

    def credit(self, number: int, now: int) -> None:
        """Take a credit; those before it that have none are lost, as paths keep the order of packets."""
        self.credits += 1
        if number < self.left or self.emulated[number].credited:
            self.unused += 1
            return
        self.emulated[number].credited = True
        sample = now - self.emulated[number].sent
        self.round_trip = sample if self.round_trip == 0 else (4 * self.round_trip + sample) // 5
        for each in self.emulated[: number + 1]:
            each.known = True
        self._judge_after(number)

    def act(self, now: int) -> tuple[int, list[bool]]:
        """Do what the time asks for; return how many segments leave, and of each emulation packet if it is ordinary."""
        sent, emulated = self._send_data(now), []
        while self.following <= now and (what := self._emulates()) != "nothing":
            emulated.append(what == "ordinary")
            self.emulated.append(Emulation(now, emulated[-1]))
            gap = math.ceil(self.gap / self.rate)
            self.planned = max(self.planned + gap, now)
            late = 0 if self.random is None else int(float(self.random.unit(1)[0]) * self.jitter * gap)
            self.following = max(self.planned + late, now + 1)
        return sent, emulated

    def deadline(self) -> int | None:
        data = [each.sent + self.wait for each in self.emulated[self.left : self.left + 1]]
        return min(data if self._emulates() == "nothing" else [*data, self.following], default=None)

    def _judge_after(self, number: int) -> None:
        """Change the rate if this packet was sent after the last change."""
        begin, end = self.judged
        if number < end:
            return
        rate = self.rate
        judged = [each for each in self.emulated[begin:end] if each.ordinary]
        if judged:
            loss = 1 - sum(each.credited for each in judged) / len(judged)
            if loss > self.most_loss:
                self._set_rate(self.rate_before * (1 - loss) * (1 + self.least_loss))
            elif loss < self.least_loss:
                self._set_rate(rate * (1 + self.most_loss))
        self.rate_before = rate
        self.judged = (end, len(self.emulated))

    def _set_rate(self, rate: float) -> None:
        self.rate = min(max(rate, min(math.ceil(self.gap) / self.wait, 1.0)), 1.0)  # one for each wait at least

    def _send_data(self, now: int) -> int:
        before = self.data
        while self.left < len(self.emulated):
            first = self.emulated[self.left]
            if first.sent + self.wait > now and (first.credited or not first.known):
                break
            first.known = True
            self.unused += first.credited and self.data == self.segments
            self.data += first.credited and self.data < self.segments
            self.left += 1
            self._judge_after(self.left - 1)
        return self.data - before

    def _emulates(self) -> str:
        """Return what the next emulation packet is: `ordinary`, `over` for over-provisioned, or `nothing`."""
        needed = self.segments - self.data
        if self.send_buffer:
            needed = min(needed, self.send_buffer)
        in_hand = sum(each.credited for each in self.emulated[self.left :])
        if needed <= in_hand:
            return "nothing"
        expected = sum(each.ordinary and not each.known for each in self.emulated[self.left :])
        if self.finishing == 1 or in_hand + expected * (1 - self.most_loss) < needed:
            return "ordinary"
        return "over" if self.finishing == 0 else "nothing"


@dataclass
class FlashPassReceiver:
    """A receiver of FlashPass: a credit for each emulation packet, several together while their data has time.

    Attributes:
        answered: what each packet of credits tells: when the first emulation packet left, and their numbers.
    """

    wait: int
    batch: int
    held: list[tuple[int, int]] = field(default_factory=list)  # when each left, and its number
    answer_at: int | None = None
    answered: list[tuple[int, list[int]]] = field(default_factory=list)

    def arrive(self, number: int, sent: int, now: int) -> None:
        gaps = sum(later != before + 1 for (_, before), (_, later) in itertools.pairwise(self.held))
        if gaps == 2 and self.held[-1][1] + 1 != number:
            self._answer()
        if not self.held:
            self.answer_at = now + max((self.wait - 2 * (now - sent)) // 2, 0)
        self.held.append((sent, number))
        if len(self.held) >= self.batch:
            self._answer()
        self.wake(now)

    def wake(self, now: int) -> None:
        if self.answer_at is not None and self.answer_at <= now:
            self._answer()

    def _answer(self) -> None:
        self.answered.append((self.held[0][0], [number for _, number in self.held]))
        self.held, self.answer_at = [], None


@dataclass
class ExpressPassReceiver:
    """A receiver of ExpressPass: credits of random sizes at random distances, at the rate of `CreditRate`."""

    rate: CreditRate
    most: float  # bit/s of credits
    sizes: tuple[int, int]
    jitter: float
    random: _core.Random
    round_trip: int = 0
    crediting: bool = False
    begun: bool = False
    due: int | None = None
    credits: list[int] = field(default_factory=list)  # sizes
    expected: int = 0

    def request(self, now: int, initial: float) -> None:
        if self.crediting:
            return
        self.crediting = True
        if not self.begun:
            self.begun = True
            self.rate.begin(initial, now)
        self.wake(now)

    def stop(self) -> None:
        self.crediting = False

    def wake(self, now: int) -> None:
        """Send a credit."""
        if not self.crediting:
            return
        mean = sum(self.sizes) / 2
        self.rate.adapt(now, self.round_trip, math.ceil(mean * 8 * SECOND / self.most))
        self.credits.append(self.sizes[0] + int(self.random.whole(self.sizes[1] - self.sizes[0] + 1, 1)[0]))
        late = 1 + self.jitter * (2 * float(self.random.unit(1)[0]) - 1)
        self.due = now + math.ceil(mean * late * 8 * SECOND / (self.most * self.rate.rate))

    def data(self, now: int, sent: int, credit: int) -> None:
        sample = now - sent
        self.round_trip = sample if self.round_trip == 0 else (4 * self.round_trip + sample) // 5
        if credit >= self.expected:
            self.rate.noted(credit - self.expected)
            self.expected = credit + 1
