"""References of the controls that go by delay or by the rate of delivery, slow and obvious, after their papers.

Times are in picoseconds, windows in segments, rates in segments for each second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from simulator.packet import _core
from tests.simulator.packet.step_references import SECOND


@dataclass
class Sent:
    """State of the connection when a segment left."""

    at: int
    first_sent: int
    delivered_time: int
    delivered: int
    app_limited: bool


@dataclass
class RateSample:
    """Rate of delivery up to one acknowledgement; 0 if the interval was too short to tell."""

    rate: float
    prior_delivered: int
    app_limited: bool


@dataclass
class DeliveryRate:
    """draft-cheng-iccrg-delivery-rate-estimation-00, section 3."""

    delivered: int = 0
    delivered_time: int = 0
    first_sent: int = 0
    limited_until: int = 0  # C.app_limited
    least: float = math.inf
    segments: dict[int, Sent] = field(default_factory=dict)
    newest: tuple[Sent, int] | None = None  # of those delivered since the last sample, and how long that took

    def send(self, number: int, now: int, *, idle: bool) -> None:
        if idle:
            self.first_sent = self.delivered_time = now
        limited = self.limited_until > 0
        self.segments[number] = Sent(now, self.first_sent, self.delivered_time, self.delivered, limited)

    def deliver(self, number: int, now: int) -> None:
        segment = self.segments.pop(number, None)
        if segment is None:
            return
        self.delivered += 1
        self.delivered_time = now
        if self.newest is None or segment.delivered >= self.newest[0].delivered:
            self.newest = segment, now - segment.delivered_time
            self.first_sent = segment.at

    def sample(self, round_trip: int) -> RateSample | None:
        if self.delivered > self.limited_until:
            self.limited_until = 0
        self.least = min(self.least, round_trip)
        if self.newest is None:
            return None
        (segment, taken), self.newest = self.newest, None
        interval = max(segment.at - segment.first_sent, taken)
        came = self.delivered - segment.delivered
        rate = came / (interval / SECOND) if interval >= self.least else 0.0
        return RateSample(rate, segment.delivered, segment.app_limited)

    def limit(self, in_flight: float) -> None:
        self.limited_until = max(self.delivered + int(in_flight), 1)


@dataclass(frozen=True)
class News:
    """What an acknowledgement tells; see `Feedback` of the core."""

    now: int
    sample: int
    smoothed: int
    missing: int
    following: int
    delivered: int
    lost: int
    in_flight: int
    was_full: bool
    in_order: bool
    may_grow: bool


@dataclass
class DelayControl:
    """A control that neither paces nor reacts; each says where it differs."""

    size: float = 10.0
    threshold: float = math.inf

    def pace(self, smoothed: int) -> float:  # noqa: ARG002  # as of those that pace
        return 0.0

    def restart(self, *, limited: bool) -> None:
        """Note that a segment leaves while nothing is outstanding."""

    def recovered(self) -> None:
        """Note the end of a recovery."""


@dataclass
class Vegas(DelayControl):
    """Vegas (Brakmo and Peterson, 1995), section III."""

    alpha: float = 2.0
    beta: float = 4.0
    gamma: float = 1.0
    keeps: float = 0.75
    alternates: bool = True
    limit: float = 2.0
    base: float = math.inf
    measured: int | None = None  # the distinguished segment
    holds: bool = False

    def lost(self, _in_flight: float) -> None:
        self.size = self.threshold = max(2.0, min(self.keeps * self.size, self.size - 1))
        self.measured = None

    def timed_out(self, in_flight: float) -> None:
        self.threshold = max(2.0, in_flight / 2)
        self.measured, self.holds = None, False

    def acknowledged(self, news: News, _: DeliveryRate) -> None:
        self.base = min(self.base, news.sample)
        if news.in_order and (self.measured is None or news.missing > self.measured):
            if self.measured is not None:
                sent = news.following - self.measured
                expected, actual = sent / self.base, sent / news.sample
                self._compare(sent, (expected - actual) * self.base, may_grow=news.may_grow)
            self.measured = news.following
        if self.size < self.threshold and news.may_grow and not self.holds:
            self.size += min(news.delivered, self.limit, self.threshold - self.size)

    def _compare(self, sent: int, waiting: float, *, may_grow: bool) -> None:
        if self.size < self.threshold:
            self.holds = self.alternates and not self.holds
            if waiting > self.gamma and not self.holds:
                self.size = self.threshold = max(2.0, min(self.size, sent - waiting + 1))
            return
        if waiting > self.beta:
            self.size = max(2.0, self.size - 1)
        elif waiting < self.alpha and may_grow:
            self.size += 1
        self.threshold = min(self.threshold, self.size)


@dataclass
class Recent:
    """Values of a window of time."""

    values: list[tuple[int, float]] = field(default_factory=list)

    def add(self, now: int, value: float, window: float) -> list[float]:
        """Return the values in the window that ends now."""
        self.values = [(time, each) for time, each in self.values if time >= now - window] + [(now, value)]
        return [each for _, each in self.values]


@dataclass
class Copa(DelayControl):
    """Copa (Arun and Balakrishnan, 2018), section 2, and a velocity that serves one direction."""

    delta: float = 0.5
    competes: bool = True
    nearly_empty: float = 0.1
    cautious: bool = False
    paced: bool = True
    patience: float = 0.0  # 1 / delta
    competing: bool = False
    starting: bool = True
    lost_lately: bool = False
    samples: tuple[Recent, Recent, Recent] = field(default_factory=lambda: (Recent(), Recent(), Recent()))
    standing: float = 0.0
    emptied: int | None = None
    round_began: int = 0
    velocity: float = 1.0
    direction: str = ""
    same: int = 0  # round trips in which the direction has stayed
    look: tuple[int, float] | None = None  # when the direction was determined last, and the window then

    def __post_init__(self) -> None:
        self.patience = 1 / self.delta

    def pace(self, smoothed: int) -> float:
        return 2 * self.size / (self.standing / SECOND) if self.paced and smoothed else 0.0

    def lost(self, _in_flight: float) -> None:
        self.lost_lately = True
        if self.competing:
            self.patience = max(1 / self.delta, self.patience / 2)

    def timed_out(self, in_flight: float) -> None:
        self.lost(in_flight)
        self.starting = False
        self.velocity, self.direction, self.same = 1.0, "", 0

    def acknowledged(self, news: News, _: DeliveryRate) -> None:
        least = min(self.samples[0].add(news.now, news.sample, 10 * SECOND))
        self.standing = min(self.samples[1].add(news.now, news.sample, news.smoothed // 2))
        queueing = max(0.0, self.standing - least)
        if self.competes:
            swing = max(self.samples[2].add(news.now, news.sample, 4 * news.smoothed)) - least
            self._choose_mode(news, empty=queueing <= self.nearly_empty * swing)
        grows = self.size * queueing <= self.patience * self.standing  # rate <= 1 / (delta dq)
        if self.starting and grows:
            self.size += news.delivered * news.was_full
            return
        self.starting = False
        self._determine_velocity(news)
        towards = "up" if grows else "down"
        if towards != self.direction and self.velocity > 1:
            self._turn()
            self.same, self.direction = 0, towards
            assert self.look is not None
            self.look = self.look[0], self.size
        step = news.delivered * self.velocity * self.patience / self.size
        if grows:
            self.size += step * news.was_full
        else:
            self.size = max(2.0, self.size - step)

    def _choose_mode(self, news: News, *, empty: bool) -> None:
        if empty or self.emptied is None:
            self.emptied = news.now
        before, self.competing = self.competing, (news.now - self.emptied) // 5 > news.smoothed
        if not self.competing:
            self.patience = 1 / self.delta
        elif not before or news.now - news.sample >= self.round_began:
            self.patience += before and not self.lost_lately
            self.round_began, self.lost_lately = news.now, False

    def _determine_velocity(self, news: News) -> None:
        if self.look is not None:
            since, window = self.look
            if news.now - news.sample < since:
                return
            direction = "up" if self.size > window else "down"
            self.same = self.same + 1 if direction == self.direction else 0
            if self.same == 0:
                self._turn()
            elif self.same >= (4 if self.cautious else 3):
                self.velocity = max(1.0, min(2 * self.velocity, self.size / self.patience))
                self.same = 0 if self.cautious else self.same
            self.direction = direction
        self.look = news.now, self.size

    def _turn(self) -> None:
        self.velocity = max(1.0, self.velocity / 2) if self.cautious else 1.0


@dataclass
class Bbr(DelayControl):
    """BBR by draft-cardwell-iccrg-bbr-congestion-control-00, section 4, with quanta of one segment."""

    random: _core.Random = field(default_factory=lambda: _core.Random(0))
    window_gain: float = 2.0
    round_trip_window: int = 10 * SECOND
    probe: int = SECOND // 5
    probing_gain: float = 0.25
    pacing_margin: float = 0.01
    heeds_loss: bool = False
    initial: float = 10.0
    state: str = "startup"
    pacing_gain: float = 2 / math.log(2)
    gain: float = 2 / math.log(2)  # of the window
    rate: float | None = None  # of pacing
    rates: list[tuple[int, float]] = field(default_factory=list)  # of delivery, by their rounds
    round: int = 0
    round_ends: int = 0  # segments delivered
    filled: bool = False
    full: tuple[float, int] = (0.0, 0)  # the bandwidth to beat, and rounds that have not
    phase: tuple[int, int] = (0, 0)  # of the cycle, and when it began
    round_trip: tuple[float, int] = (math.inf, 0)  # the least, and when it was measured
    quiet: tuple[int, bool] | None = None  # until when, and whether a round trip has passed since
    idle: bool = False
    prior: float = 0.0  # window before
    recovering: bool = False
    entering: bool = False
    conserving: bool = False

    @property
    def bandwidth(self) -> float:
        return max((rate for number, rate in self.rates if number >= self.rates[-1][0] - 10), default=0.0)

    def pace(self, smoothed: int) -> float:
        return self._first_pace(smoothed) if self.rate is None else self.rate

    def restart(self, *, limited: bool) -> None:
        if limited:
            self.idle = True
            if self.state == "bandwidth":
                self._set_pace(1.0)

    def lost(self, _in_flight: float) -> None:
        self.prior = self._saved()
        self.recovering = self.entering = self.conserving = True
        self.filled |= self.heeds_loss

    def timed_out(self, _in_flight: float) -> None:
        self.prior = self._saved()
        self.recovering, self.conserving = True, False

    def recovered(self) -> None:
        if self.recovering and self.state != "round trip":
            self.size = max(self.size, self.prior)
        self.recovering = self.conserving = False

    def acknowledged(self, news: News, delivery: DeliveryRate) -> None:
        if self.rate is None:
            self.rate = self._first_pace(news.smoothed)
        sample = delivery.sample(news.sample)
        begins = sample is not None and sample.prior_delivered >= self.round_ends
        if begins:
            self.round, self.round_ends, self.conserving = self.round + 1, delivery.delivered, False
        if sample is not None and sample.rate > 0 and (not sample.app_limited or sample.rate >= self.bandwidth):
            self.rates.append((self.round, sample.rate))
        if self.state == "bandwidth" and self._phase_is_over(news):
            self._next_phase(news.now)
        if begins and not self.filled and sample is not None and not sample.app_limited:
            beaten = self.bandwidth >= 1.25 * self.full[0]
            self.full = (self.bandwidth, 0) if beaten else (self.full[0], self.full[1] + 1)
            self.filled = self.full[1] == 3
        if self.state == "startup" and self.filled:
            self.state, self.pacing_gain, self.gain = "drain", math.log(2) / 2, 2 / math.log(2)
        if self.state == "drain" and news.in_flight <= self._product(1.0):
            self._probe_bandwidth(news.now)
        self._update_round_trip(news, delivery, begins=begins)
        self._set_pace(self.pacing_gain)
        self._set_window(news, delivery)

    def _product(self, gain: float) -> float:
        least = self.round_trip[0]
        return self.initial if math.isinf(least) else 3 + gain * self.bandwidth * least / SECOND

    def _first_pace(self, round_trip: int) -> float:
        return (1 - self.pacing_margin) * 2 / math.log(2) * self.initial / (round_trip / SECOND or 1e-3)

    def _phase_is_over(self, news: News) -> bool:
        is_long = news.now - self.phase[1] > self.round_trip[0]
        before = news.in_flight + news.delivered + news.lost
        if self.pacing_gain > 1:
            return is_long and (news.lost > 0 or before >= self._product(self.pacing_gain))
        if self.pacing_gain < 1:
            return is_long or before <= self._product(1.0)
        return is_long

    def _next_phase(self, now: int) -> None:
        number = (self.phase[0] + 1) % 8
        self.phase = number, now
        self.pacing_gain = {0: 1 + self.probing_gain, 1: 1 - self.probing_gain}.get(number, 1.0)

    def _probe_bandwidth(self, now: int) -> None:
        self.state, self.gain = "bandwidth", self.window_gain
        self.phase = 7 - int(self.random.whole(7, 1)[0]), now
        self._next_phase(now)

    def _update_round_trip(self, news: News, delivery: DeliveryRate, *, begins: bool) -> None:
        expired = news.now > self.round_trip[1] + self.round_trip_window
        if expired or news.sample <= self.round_trip[0]:
            self.round_trip = news.sample, news.now
        if expired and not self.idle and self.state != "round trip":
            self.prior = self._saved()
            self.state, self.quiet = "round trip", None
            self.pacing_gain = self.gain = 1.0
        if self.state == "round trip":
            self._probe_round_trip(news, delivery, begins=begins)
        self.idle = False

    def _probe_round_trip(self, news: News, delivery: DeliveryRate, *, begins: bool) -> None:
        delivery.limit(news.in_flight)
        if self.quiet is None:
            if news.in_flight <= 4:
                self.quiet = news.now + self.probe, False
                self.round_ends = delivery.delivered
            return
        until, passed = self.quiet
        self.quiet = until, passed or begins
        if self.quiet[1] and news.now > until:
            self.round_trip = self.round_trip[0], news.now
            self.size = max(self.size, self.prior)
            if self.filled:
                self._probe_bandwidth(news.now)
            else:
                self.state = "startup"
                self.pacing_gain = self.gain = 2 / math.log(2)

    def _set_pace(self, gain: float) -> None:
        rate = gain * self.bandwidth * (1 - self.pacing_margin)
        if rate > 0 and (self.filled or rate > (self.rate or 0.0)):
            self.rate = rate

    def _set_window(self, news: News, delivery: DeliveryRate) -> None:
        target = self._product(self.gain)
        if self.entering:
            self.size = news.in_flight + max(news.delivered, 1)
            self.round_ends = delivery.delivered
            self.entering = False
        elif self.recovering and news.lost:
            self.size = max(1.0, self.size - news.lost)
        if self.conserving:
            self.size = max(self.size, news.in_flight + news.delivered)
        elif self.filled:
            self.size = max(4.0, min(self.size + news.delivered, target))
        else:
            grows = self.size < target or delivery.delivered < self.initial
            self.size = max(4.0, self.size + news.delivered * grows)
        if self.state == "round trip":
            self.size = min(4.0, self.size)

    def _saved(self) -> float:
        return max(self.size, self.prior) if self.recovering or self.state == "round trip" else self.size
